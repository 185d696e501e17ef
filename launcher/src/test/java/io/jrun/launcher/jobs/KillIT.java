package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * After any kill the job ends, and none of its processes and files stays. Soak, twenty times each: -Djrun.soak=true.
 */
@Tag("alone") // holds a promise about time
class KillIT extends RealJobs {
    /**
     * A promise to users, not a measure of speed: SIGKILL is delivered at once, and the guard looks twice within a
     * second.
     */
    private static final Duration PROMISE = Duration.ofSeconds(2);

    private static final int WORKERS = 2;

    private static final String CHILD = "sleep 1000 &";

    /** A child that has left the worker's process group: only a kill without warning ends that too. */
    private static final String DAEMON = "setsid sleep 1000 &";

    static IntStream times() {
        return IntStream.range(0, Boolean.getBoolean("jrun.soak") ? 20 : 1);
    }

    @ParameterizedTest
    @MethodSource("times")
    void killedLauncherLeavesNothing(int time) {
        Running job = startStubborn(CHILD + DAEMON);
        job.signal("KILL");
        awaitNoWorker(job);
        assertThat(job.await().exitCode()).isEqualTo(137);
    }

    @ParameterizedTest
    @MethodSource("times")
    void killedLauncherLeavesNoJavaWorkerWithAChild(int time) {
        Jars.program(folder.resolve("parent.jar"), "Parent", """
                public class Parent {
                    public static void main(String[] args) throws Exception {
                        try (var world = io.jrun.comm.Distributed.init()) {
                            new ProcessBuilder("sleep", "1000").start();
                            System.out.println("up");
                            Thread.sleep(1_000_000);
                        }
                    }
                }
                """);
        Running job = startUp(2, "--nproc-per-node=" + WORKERS, "parent.jar");
        job.signal("KILL");
        awaitNoWorker(job);
        assertThat(job.await().exitCode()).isEqualTo(137);
    }

    @ParameterizedTest
    @MethodSource("times")
    void killedLauncherOfAStandingAgentLeavesNoWorkerAndTheAgentGoesOn(int time) {
        StandingAgent agent = StandingAgent.start(jrun, folder);
        Running job = startStubborn(CHILD + DAEMON, agent.options());
        job.signal("KILL");
        awaitNoWorker(job);
        assertThat(job.await().exitCode()).isEqualTo(137);
        assertThat(jrun.run(agent.with("sh", "-c", "exit 5")).exitCode()).isEqualTo(5);
        agent.close();
    }

    @ParameterizedTest
    @MethodSource("times")
    void killedAgentLeavesNoWorkerAndItsLauncherSaysSo(int time) {
        Result result = endAgent("KILL", 137);
        assertThat(result.err()).contains("jrun: lost the agent of ");
    }

    @ParameterizedTest
    @MethodSource("times")
    void terminatedAgentLeavesNoWorkerAndItsLauncherSaysSo(int time) {
        Result result = endAgent("TERM", 143);
        assertThat(result.err())
                .contains(
                        "jrun: lost the agent of ",
                        ": the agent was stopped, and it stopped its workers (exit code 69)")
                .doesNotContain("first failure");
    }

    @ParameterizedTest
    @MethodSource("times")
    void killedWorkerEndsTheJob(int time) {
        Running job = startStubborn(CHILD, "--shutdown-timeout=200ms");
        Matcher first = Pattern.compile("\\[1@[^]]+] up (\\d+)\n").matcher(job.out());
        assertThat(first.find()).isTrue();
        JRun.kill("KILL", first.group(1));
        Result result = job.await();
        assertThat(result.exitCode()).isEqualTo(137);
        assertThat(result.err())
                .contains(
                        "jrun: first failure: rank 1 on ",
                        "ended by SIGKILL",
                        "rank 0: SIGKILL (137) after the stop signal");
    }

    @ParameterizedTest
    @MethodSource("times")
    void terminatedLauncherLeavesNothing(int time) {
        Running job = startStubborn(CHILD, "--shutdown-timeout=200ms");
        job.signal("TERM");
        Result result = job.await();
        assertThat(result.exitCode()).isEqualTo(143);
        assertThat(result.err()).contains("2 ranks (0-1): SIGKILL (137) after the stop signal");
    }

    /** Ends a standing agent, which has to leave {@code agentExitCode}, under a job; what the job's launcher left. */
    private Result endAgent(String signal, int agentExitCode) {
        StandingAgent agent = StandingAgent.start(jrun, folder);
        Running job = startStubborn(CHILD + DAEMON, agent.options());
        agent.process().signal(signal);
        awaitNoWorker(job);
        assertThat(agent.process().await().exitCode()).isEqualTo(agentExitCode);
        Result result = job.await();
        assertThat(result.exitCode()).isEqualTo(69);
        return result;
    }

    /** Starts workers that are deaf to everything but SIGKILL. */
    private Running startStubborn(String children, String... options) {
        String script = "trap '' TERM HUP INT; " + children + " echo up $$; while :; do sleep 0.05; done";
        return startUp(
                children.split("&", -1).length, // the worker itself, and one for each ampersand
                StandingAgent.join(options, "--nproc-per-node=" + WORKERS, "sh", "-c", script));
    }

    /** Starts a job and waits until each rank is up, with all its processes. */
    private Running startUp(int processesPerRank, String... args) {
        Running job = jrun.start(args);
        for (int rank = 0; rank < WORKERS; rank++) {
            job.awaitOutput("[" + rank + "@");
            assertThat(job.processesOfRank(rank)).hasSizeGreaterThanOrEqualTo(processesPerRank);
        }
        return job;
    }

    private static void awaitNoWorker(Running job) {
        JRun.waitFor(() -> workers(job).isEmpty(), PROMISE, () -> "end of the workers; left: " + workers(job));
    }

    private static List<String> workers(Running job) {
        return IntStream.range(0, WORKERS)
                .boxed()
                .flatMap(rank -> job.processesOfRank(rank).stream())
                .toList();
    }
}
