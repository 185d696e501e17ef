package io.jrun.launcher.doctor;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * What a program of this machine has answered.
 *
 * @param exitCode 124 where it had no answer in time
 * @param lines of both streams, without empty ones
 */
record CommandResult(int exitCode, List<String> lines) {
    private static final int NO_ANSWER = 124;

    /** Runs a command, which has nobody to ask, to its end or for {@code seconds}. */
    static CommandResult of(List<String> command, long seconds) throws IOException, InterruptedException {
        Path output = Files.createTempFile("jrun-doctor", ".txt");
        try {
            Process process = new ProcessBuilder(command)
                    .redirectInput(
                            ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
            boolean ended = process.waitFor(seconds, TimeUnit.SECONDS);
            if (!ended) {
                process.destroyForcibly().waitFor();
            }
            List<String> lines = Files.readString(output, StandardCharsets.UTF_8)
                    .lines()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty())
                    .toList();
            return ended
                    ? new CommandResult(process.exitValue(), lines)
                    : new CommandResult(NO_ANSWER, List.of("no answer within " + seconds + " s"));
        } finally {
            Files.delete(output);
        }
    }

    boolean isWell() {
        return exitCode == 0;
    }

    /** The last line, empty without any. */
    String lastLine() {
        return lines.isEmpty() ? "" : lines.getLast();
    }

    /** Where a program of the PATH is. */
    static Optional<Path> find(String program, Map<String, String> environment) {
        return Arrays.stream(environment.getOrDefault("PATH", "").split(":", -1))
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, program))
                .filter(Files::isExecutable)
                .findFirst();
    }
}
