package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Rank 1 does something else than its peers: they fail at once or at their deadline, and are told what it does instead.
 */
@Tag("alone") // on a busy machine another rank may be the first to end
class LateRankIT extends RealJobs {
    private Result run(String transport, String instead) {
        Jars.program(folder.resolve("job.jar"), "Job", """
                import io.jrun.comm.*;

                public class Job {
                    public static void main(String[] args) throws Exception {
                        World world = Distributed.init();
                        world.group().barrier();
                        if (world.rank() == 1) {
                            instead(world);
                            return;
                        }
                        world.group().barrier();
                    }

                    static void instead(World world) throws Exception {
                        %s
                    }
                }
                """.formatted(instead));
        return jrun.with("JRUN_TRANSPORT", transport).run("--nproc-per-node=3", "--shutdown-timeout=1s", "job.jar");
    }

    @ParameterizedTest
    @MethodSource("oneTransport")
    void theStackOfARankThatDoesSomethingElseIsInTheWarningAndInTheReport(String transport) {
        jrun.with("JRUN_TIMEOUT_SECONDS", "2").with("JRUN_LATE_WARNING_SECONDS", "1");
        Result result = run(transport, "Thread.sleep(1_000_000);");
        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.err())
                .containsPattern(
                        "jrun: rank 0: barrier #1 on group world waits, while:\n(.* )? {2}rank 1 \\(host .*, pid"
                                + " \\d+\\) has completed barrier #0 on group world and has entered no other operation of that group\n")
                .containsPattern(
                        "first failure: barrier #1 on group world timed out after 2 s: rank 1 \\(host [^;]* did not"
                                + " come\\. .*\n  reported by rank [02] on .*, which exited with code 1")
                .contains("barrier #1 on group world", "at Job.instead(Job.java:15)", "also in the operation: rank ");
    }

    @ParameterizedTest
    @MethodSource("oneTransport")
    void aStoppedRankIsReportedAsStopped(String transport) {
        jrun.with("JRUN_TIMEOUT_SECONDS", "5");
        Result result = run(transport, """
                new ProcessBuilder("kill", "-STOP", "" + ProcessHandle.current().pid()).start().waitFor();""");
        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.err())
                .containsPattern(
                        "first failure: .*rank 1 \\(host .*, pid (\\d+)\\) does not answer: process \\1 is stopped")
                .containsPattern("rank 1 \\(host .*, pid (\\d+)\\) does not answer: process \\1 is stopped \\(state T")
                .contains("barrier #1 on group world", "also in the operation: rank ");
    }

    /** Drawn by the seed of the run. Both under {@code -Djrun.soak=true}. */
    static List<String> oneTransport() {
        return RunSeed.sample(List.of("shm", "tcp"), 1);
    }

    /** Four cases, drawn by the seed of the run. All cases under {@code -Djrun.soak=true}. */
    static Stream<Arguments> waysToLeave() {
        return RunSeed.sample(
                List.of(
                        Arguments.of("return;", "returned from main"),
                        Arguments.of("System.exit(0);", "exited with code 0"),
                        Arguments.of("Runtime.getRuntime().halt(0);", "exited with code 0"),
                        Arguments.of("world.close(); Thread.sleep(1_000_000);", "closed its world"),
                        Arguments.of(
                                "Thread.ofPlatform().daemon().start(() -> { while (true) Thread.onSpinWait(); });",
                                "returned from main"),
                        Arguments.of(
                                "Thread.ofPlatform().start(() -> { while (true) Thread.yield(); });",
                                "returned from main")),
                4)
                .stream();
    }

    /** The rest of the job would wait for ten minutes. */
    @ParameterizedTest
    @MethodSource("waysToLeave")
    void aRankThatLeavesIsAnErrorAtOnceThatSaysHow(String instead, String how) {
        Result result = run(RunSeed.choose(List.of("shm", "tcp"), instead), instead);
        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.err())
                .containsPattern("first failure: .*rank 1 \\(host .*, pid \\d+\\),? (which )?" + how)
                .containsPattern("\n  reported by rank [02] on ")
                .contains("barrier #1", "group world");
    }

    @ParameterizedTest
    @MethodSource("oneTransport")
    void aRankThatThrowsIsTheFirstFailure(String transport) {
        Result result = run(transport, "throw new IllegalStateException(\"out of luck\");");
        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.err()).contains("first failure: rank 1 on ", "IllegalStateException: out of luck");
    }
}
