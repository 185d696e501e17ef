package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Signals to jrun, and what its workers see of them. */
class SignalIT {
    private static final String WAIT = "while :; do sleep 0.05; done";

    @TempDir
    private Path folder;

    private JRun jrun;

    @BeforeEach
    void prepare() {
        jrun = new JRun(folder);
    }

    @ParameterizedTest
    @CsvSource({"INT, 130", "TERM, 143", "HUP, 129"})
    void signalStopsTheJob(String signal, int exitCode) {
        Running job = jrun.start("--nproc-per-node=2", "sh", "-c", "echo up; exec sleep 100");
        job.awaitOutput("[0@").awaitOutput("[1@").signal(signal);
        Result result = job.await();
        assertThat(result.exitCode()).isEqualTo(exitCode);
        assertThat(result.err()).contains("jrun: stopped by SIG" + signal);
    }

    @Test
    void workersHandleTheSignalThatCame() {
        Running job = jrun.start("sh", "-c", "trap 'echo saved; exit 0' INT; echo up; " + WAIT);
        job.awaitOutput("up").signal("INT");
        Result result = job.await();
        assertThat(result.exitCode()).isEqualTo(130);
        assertThat(result.out()).contains("saved");
    }

    @Test
    void secondSignalKillsAtOnce() {
        Running job = jrun.start("sh", "-c", "trap 'echo again' INT; echo up; " + WAIT);
        job.awaitOutput("up").signal("INT");
        job.awaitOutput("again").signal("INT");
        Result result = job.await();
        assertThat(result.exitCode()).isEqualTo(130);
        assertThat(result.err()).contains("killing the workers at once");
    }

    @Test
    void checkpointSignalReachesHandlersAndEndsNothing() {
        Running job = jrun.start("sh", "-c", "trap 'echo checkpoint' USR1; echo up; " + WAIT);
        job.awaitOutput("up").signal("USR1");
        job.awaitOutput("checkpoint").signal("TERM");
        assertThat(job.await().exitCode()).isEqualTo(143);
    }

    @Test
    void ignoredSignalIsIgnored() {
        Running job = jrun.start("--signals-to-handle=TERM", "sh", "-c", "echo up; " + WAIT);
        job.awaitOutput("up").signal("HUP");
        job.signal("USR1");
        job.signal("TERM");
        assertThat(job.await().exitCode()).isEqualTo(143);
    }

    @Test
    void stoppedLauncherKeepsItsJob() {
        Running job = jrun.start("sh", "-c", "echo up; until [ -e go ]; do sleep 0.05; done; : > worked; echo done");
        // Not TSTP: the kernel drops it where, as under CI, nobody could continue the process group.
        job.awaitOutput("up").signal("STOP");
        JRun.waitFor(job::isStopped, "the stop of the launcher");
        assertThat(folder.resolve("go").toFile().mkdir()).isTrue();
        JRun.waitFor(() -> folder.resolve("worked").toFile().exists(), "the worker of a stopped launcher");
        assertThat(job.out()).doesNotContain("done");
        job.signal("CONT");
        Result result = job.await();
        assertThat(result.exitCode()).isZero();
        assertThat(result.out()).contains("done");
    }

    @Test
    void killedLauncherLeavesNothing() {
        Running job =
                jrun.start("--nproc-per-node=2", "sh", "-c", "trap '' TERM HUP INT; sleep 1000 & echo up; " + WAIT);
        job.awaitOutput("[0@").awaitOutput("[1@");
        assertThat(job.processes()).hasSizeGreaterThanOrEqualTo(5);
        job.signal("KILL");
        job.awaitNothingLeft();
        assertThat(job.await().exitCode()).isEqualTo(137);
    }
}
