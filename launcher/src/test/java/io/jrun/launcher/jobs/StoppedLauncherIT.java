package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A worker that writes more than its pipe holds (64 KiB) while jrun stands still waits for it, and loses nothing. */
class StoppedLauncherIT extends RealJobs {
    @Test
    void outputOfTheStopComesAfterIt() throws IOException {
        String script =
                "echo up; until [ -e go ]; do sleep 0.05; done; seq 10000; : > half; seq 10001 50000; echo done";
        Running job = jrun.start("sh", "-c", script);
        job.awaitOutput("up").signal("STOP");
        JRun.waitFor(job::isStopped, "the stop of the launcher");
        Files.createDirectory(folder.resolve("go"));
        JRun.waitFor(() -> Files.exists(folder.resolve("half")), "48 kB of output during the stop");
        assertThat(job.out().lines()).hasSize(1);
        job.signal("CONT");
        Result result = job.await();
        assertThat(result.exitCode()).isZero();
        assertThat(result.out().lines()).hasSize(50_002).last().asString().endsWith("] done");
        try (Stream<String> file = Files.lines(jrun.logs().resolve("attempt-0/rank-0000/stdout.log"))) {
            assertThat(file).hasSize(50_002);
        }
    }
}
