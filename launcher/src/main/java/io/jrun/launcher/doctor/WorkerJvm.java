package io.jrun.launcher.doctor;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a class of the runtime in a JVM that has a worker's class path. */
final class WorkerJvm {
    /** The deadline in seconds. The first load of libtorch unpacks 450 MB. */
    private static final long DEADLINE_SECONDS = 120;

    /**
     * The output of a class.
     *
     * @param error why the class failed; empty if it ended with 0
     */
    record Output(List<String> lines, String error) {}

    private final Path home;

    /** @param home the folder of the installation */
    WorkerJvm(Path home) {
        this.home = home;
    }

    /**
     * Runs a class to its end, or for two minutes at most.
     *
     * @param options further options of the JVM
     * @param jars further jars of the class path
     */
    Output run(String mainClass, List<String> options, List<Path> jars) throws IOException, InterruptedException {
        Path outputFile = Files.createTempFile("jrun-doctor", ".txt");
        Path errors = Files.createTempFile("jrun-doctor", ".err");
        try {
            Process java = new ProcessBuilder(command(mainClass, options, jars))
                    .redirectOutput(outputFile.toFile())
                    .redirectError(errors.toFile())
                    .start();
            boolean ended = java.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS);
            if (!ended) {
                java.destroyForcibly().waitFor();
            }
            String error = "";
            if (!ended || java.exitValue() != 0) {
                String last = Files.readAllLines(errors).stream()
                        .filter(line -> !line.startsWith("WARNING"))
                        .reduce("", (first, second) -> second);
                error = (ended ? "the check ended with " + java.exitValue() : "no answer in " + DEADLINE_SECONDS + " s")
                        + ": " + last;
            }
            return new Output(Files.readAllLines(outputFile, StandardCharsets.UTF_8), error);
        } finally {
            Files.delete(outputFile);
            Files.delete(errors);
        }
    }

    private List<String> command(String mainClass, List<String> options, List<Path> jars) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--add-modules=jdk.incubator.vector",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow"));
        command.addAll(options);
        StringBuilder classPath = new StringBuilder(home.resolve("lib/runtime") + "/*");
        jars.forEach(jar -> classPath.append(':').append(jar));
        command.addAll(List.of("-cp", classPath.toString(), mainClass));
        return command;
    }
}
