package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/** The libraries of the simulated CUDA and NCCL, see {@code scripts/testbed/cuda}. */
final class CudaTestbed {
    private CudaTestbed() {}

    /** Skips the test, and prints the reason, if this machine cannot build the libraries. */
    static void require() throws IOException, InterruptedException {
        Process check = script("check");
        String printed = output(check);
        assumeTrue(check.waitFor() == 0, "skipped: " + printed);
    }

    /** The folder of the libraries, built if they are old. Skips the test as {@link #require}. */
    static Path libraries() throws IOException, InterruptedException {
        require();
        Path built = JRun.SCRIPTS.resolve("../target/simulated-cuda").normalize();
        Process build = script("build", built.toString());
        String printed = output(build);
        assertThat(build.waitFor()).as(printed).isZero();
        return built;
    }

    private static Process script(String... arguments) throws IOException {
        ProcessBuilder command = new ProcessBuilder(
                "timeout", "60", JRun.SCRIPTS.resolve("testbed/cuda").toString());
        command.command().addAll(List.of(arguments));
        return command.redirectErrorStream(true).start();
    }

    private static String output(Process process) throws IOException {
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
}
