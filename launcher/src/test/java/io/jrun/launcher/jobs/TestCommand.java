package io.jrun.launcher.jobs;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Runs programs that prepare a test. */
final class TestCommand {
    private TestCommand() {}

    /** Whether a program is installed. */
    static boolean exists(String program) {
        return Files.isExecutable(Path.of("/usr/bin", program)) || Files.isExecutable(Path.of("/usr/sbin", program));
    }

    /** The output of a program that must succeed. */
    static String run(String... words) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new IOException(String.join(" ", words) + ": " + said);
        }
        return said;
    }
}
