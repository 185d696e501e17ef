package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * jrun ignores the signals that were ignored at its start, by nohup or by a shell that starts a command in the
 * background.
 */
class IgnoredSignalIT extends RealJobs {
    @ParameterizedTest
    @CsvSource({"HUP, 1", "INT, 2"})
    void signalIgnoredAtStartEndsNothing(String signal, int number) throws IOException {
        Running job = jrun.startUnder(
                List.of("env", "--ignore-signal=" + signal),
                "sh",
                "-c",
                "echo up; until [ -e go ]; do sleep 0.05; done; echo done");
        job.awaitOutput("up");
        assertThat(ignores(job.process().pid(), number)).isTrue();
        job.signal(signal);
        Files.createDirectory(folder.resolve("go"));
        Result result = job.await();
        assertThat(result.exitCode()).isZero();
        assertThat(result.out()).contains("done");
    }

    private static boolean ignores(long pid, int signal) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/status"))) {
            if (line.startsWith("SigIgn:")) {
                long mask = Long.parseUnsignedLong(
                        line.substring("SigIgn:".length()).strip(), 16);
                return (mask >>> (signal - 1) & 1) == 1;
            }
        }
        throw new AssertionError("/proc/" + pid + "/status has no line SigIgn");
    }
}
