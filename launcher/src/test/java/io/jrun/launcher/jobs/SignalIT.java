package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Signals to jrun, and what its workers see of them. */
class SignalIT extends RealJobs {
    private static final String WAIT = "while :; do sleep 0.05; done";

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
        assertThat(result.err())
                .startsWith(
                        "jrun: SIGINT: waiting up to 30 s for the workers to end; another signal kills them at once\n")
                .contains("killing the workers at once");
    }

    @ParameterizedTest
    @ValueSource(strings = {"USR1", "USR2"})
    void checkpointSignalReachesOnlyProcessesThatHandleIt(String signal) {
        String handle = "trap 'echo checkpoint' " + signal + "; echo up; " + WAIT;
        String others = "echo up; until [ -e go ]; do sleep 0.05; done; echo alive; exit 5";
        Running job = jrun.start("--nproc-per-node=2", "sh", "-c", "[ $RANK = 0 ] && { " + others + "; }; " + handle);
        job.awaitOutput("[0@").awaitOutput("[1@").signal(signal);
        job.awaitOutput("checkpoint"); // signals go out in rank order, so rank 0's turn is over
        assertThat(folder.resolve("go").toFile().mkdir()).isTrue();
        Result result = job.await();
        assertThat(result.out()).contains("alive");
        assertThat(result.exitCode()).isEqualTo(5);
    }

    @ParameterizedTest
    @ValueSource(strings = {"USR1", "USR2"})
    void checkpointSignalIsARequestToJavaWorkers(String signal) {
        Jars.program(folder.resolve("checkpoint.jar"), "Checkpoint", """
                public class Checkpoint {
                    public static void main(String[] args) throws Exception {
                        try (var world = io.jrun.comm.Distributed.init()) {
                            System.out.println("up");
                            while (!world.checkpointRequested()) {
                                Thread.sleep(10);
                            }
                            System.out.println("asked once: " + !world.checkpointRequested());
                        }
                    }
                }
                """);
        Running job = jrun.start("--nproc-per-node=2", "checkpoint.jar");
        job.awaitOutput("[0@").awaitOutput("[1@").signal(signal);
        Result result = job.await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.err()).doesNotContain("signal");
        assertThat(result.out().lines().filter(line -> line.endsWith("asked once: true")))
                .hasSize(2);
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
        // Not TSTP: the kernel drops it where, as under CI, no shell could continue the process group.
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
}
