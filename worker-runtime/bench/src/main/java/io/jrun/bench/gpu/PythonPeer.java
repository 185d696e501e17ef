package io.jrun.bench.gpu;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.TimeUnit;

/** The same measurements in Python's torch, by scripts/bench/peers/gpu_gpt.py in a process of its own. */
final class PythonPeer {
    /** Importing torch takes seconds, the measurements take a second or two. */
    private static final Duration DEADLINE = Duration.ofSeconds(60);

    private final Optional<Path> script;
    private String version = "";
    private String failure = "not measured";

    /** @param script the Python program; without a program every measurement is without Python */
    PythonPeer(Optional<Path> script) {
        this.script = script;
    }

    /** The version of torch. Empty before a measurement, and without torch. */
    String version() {
        return version;
    }

    /** Runs the program with these words. Returns its numbers by name; none if the program fails. */
    Map<String, Double> measure(String... words) throws IOException, InterruptedException {
        if (script.isEmpty()) {
            failure = "--peer is not set";
            return Map.of();
        }
        List<String> command = new ArrayList<>(List.of("python3", script.get().toString()));
        command.addAll(List.of(words));
        Path errors = Files.createTempFile("jrun-peer-", ".txt");
        Process python;
        try {
            python = new ProcessBuilder(command).redirectError(errors.toFile()).start();
        } catch (IOException e) {
            failure = "there is no python3";
            return Map.of();
        }
        try {
            // The program prints a few lines only, so it never waits for a reader.
            if (!python.waitFor(DEADLINE.toSeconds(), TimeUnit.SECONDS)) {
                failure = "Python did not end within " + DEADLINE.toSeconds() + " s";
                return Map.of();
            }
            failure = Files.readAllLines(errors).stream().reduce("", (_, last) -> last);
            return numbers(new String(python.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
        } finally {
            python.destroyForcibly();
            Files.delete(errors);
        }
    }

    /** A number of {@link #measure}; empty if Python did not print it. */
    static OptionalDouble number(Map<String, Double> numbers, String name) {
        Double found = numbers.get(name);
        return found == null ? OptionalDouble.empty() : OptionalDouble.of(found);
    }

    private Map<String, Double> numbers(String output) {
        Map<String, Double> numbers = new HashMap<>();
        for (String line : output.lines().toList()) {
            String[] fields = line.split(" ", 3);
            if (fields.length == 3 && fields[0].equals("RESULT")) {
                if (fields[1].equals("version")) {
                    version = fields[2];
                } else {
                    numbers.put(fields[1], Double.parseDouble(fields[2]));
                }
            }
        }
        return numbers;
    }

    /** The words about Python's number beside one of jrun; without a number the reason of the last failure. */
    String beside(double own, OptionalDouble other) {
        return other.isEmpty()
                ? "; without Python: " + failure
                : String.format(
                        Locale.ROOT,
                        "; Python's torch %.3f: %.2f of Python's",
                        other.getAsDouble(),
                        own / other.getAsDouble());
    }
}
