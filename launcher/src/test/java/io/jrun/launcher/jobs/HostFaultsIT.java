package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Objects;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * After any fault of one of several hosts in the middle of collectives, jrun reports the right cause and exit code,
 * informs every other node, and leaves nothing on any host. Each fault happens once, at a moment that the seed of the
 * run draws; under {@code -Djrun.soak=true} fifty times, with the report within a second. Most of a case is the
 * wait until jrun notices a silent host. Some cases therefore run at once, each on hosts of its own.
 */
class HostFaultsIT extends RealJobs {
    private static final boolean SOAK = Boolean.getBoolean("jrun.soak");
    private static final int TIMES = SOAK ? 50 : 1;

    /** A job on two hosts and one on each number above, at the same time; more than two jobs are much for two cores. */
    private static final int MOST_HOSTS = SOAK ? 4 : 3;

    /** The promise is a second; where others may be at work on the machine, this separates told from not told. */
    private static final long MOST_MILLIS_TO_TELL = SOAK ? 1000 : 10_000;

    /** Separates working from hanging: a case takes some 15 s at most. */
    private static final long TIMEOUT_SECONDS = 300;

    @TempDir
    private static Path ofClass;

    private static TestHosts hosts;
    private static Path program;
    private static final BlockingQueue<HostSet> IDLE = new ArrayBlockingQueue<>(MOST_HOSTS);
    private static final Queue<Long> BROADCAST_MILLIS = new ConcurrentLinkedQueue<>();

    /** The fault of a host or of the worker on the host. */
    enum Fault {
        WORKER_KILLED(137),
        AGENT_KILLED(69),
        POWER_OFF(69),
        LINK_DOWN(69),
        WORKER_STOPPED(75);

        private final int exitCode;

        Fault(int exitCode) {
            this.exitCode = exitCode;
        }

        boolean takesTheAgent() {
            return exitCode == 69;
        }
    }

    /** One case; the seed chooses victim and moment. */
    record Case(Fault fault, int seed) {}

    /** Hosts with standing agents, for one job at a time. */
    private record HostSet(List<String> names, HostAgents agents) {}

    static Stream<Case> cases() {
        int first = RunSeed.offset(1_000_000);
        return IntStream.range(first, first + TIMES)
                .boxed()
                .flatMap(seed -> Stream.of(Fault.values()).map(fault -> new Case(fault, seed)));
    }

    @BeforeAll
    static void bringUp() {
        hosts = TestHosts.up(IntStream.rangeClosed(2, MOST_HOSTS).sum());
        int first = 1;
        for (int count = 2; count <= MOST_HOSTS; count++) {
            List<String> names =
                    IntStream.range(first, first + count).mapToObj(i -> "h" + i).toList();
            IDLE.add(new HostSet(names, new HostAgents(hosts, ofClass.resolve("agents-" + count))));
            first += count;
        }
        program = Jars.program(ofClass.resolve("work.jar"), "Work", """
                import io.jrun.comm.*;
                import java.lang.foreign.MemorySegment;
                import java.util.concurrent.locks.LockSupport;
                public class Work {
                    public static void main(String[] args) {
                        try (World world = Distributed.init()) {
                            MemorySegment data = MemorySegment.ofArray(new float[10_000]);
                            for (int step = 0; ; step++) {
                                world.group().allReduce(data, DataType.F32, 10_000, ReduceOp.SUM);
                                if (step == 2) System.out.println("up");
                                if (world.rank() == 0) LockSupport.parkNanos(20_000_000); // the others wait for it
                            }
                        }
                    }
                }
                """);
    }

    @AfterAll
    static void takeDown() {
        if (hosts != null) {
            for (HostSet hostSet = IDLE.poll();
                    hostSet != null;
                    hostSet = IDLE.poll()) { // none is left for another turn of the class
                hostSet.agents().close();
            }
            hosts.close();
            LongSummaryStatistics millis =
                    BROADCAST_MILLIS.stream().mapToLong(Long::longValue).summaryStatistics();
            System.out.printf(
                    "HostFaultsIT: %d nodes were informed, in the mean within %.0f ms, at most %d ms%n",
                    millis.getCount(), millis.getAverage(), millis.getMax());
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    @Execution(ExecutionMode.CONCURRENT)
    void faultIsNamedAndNothingIsLeft(Case each) throws Exception {
        HostSet hostSet = Objects.requireNonNull(IDLE.poll(TIMEOUT_SECONDS, TimeUnit.SECONDS), "a set of hosts");
        try {
            hostSet.agents().start(hostSet.names());
            check(each, hostSet);
        } finally {
            IDLE.add(hostSet);
        }
    }

    private void check(Case each, HostSet hostSet) throws IOException {
        Random random = new Random(each.seed());
        int rank = random.nextInt(hostSet.names().size());
        String victim = hostSet.names().get(rank);
        Running job = jrun.startUnder(
                hosts.on("head"),
                "--secret-file=" + hostSet.agents().secret(),
                "--hosts=" + String.join(",", hostSet.names()),
                "--nproc-per-node=1",
                "--worker-timeout=4",
                "--shutdown-timeout=1",
                "--json",
                program.toString());
        try {
            for (int i = 0; i < hostSet.names().size(); i++) {
                String line = "[" + i + "@" + hostSet.names().get(i) + "] up";
                JRun.waitFor(() -> job.err().contains(line), "'" + line + "'"); // with --json it goes there
            }
            LockSupport.parkNanos(random.nextLong(500_000_000)); // any moment will do
            strike(
                    each.fault(),
                    hostSet.agents(),
                    victim,
                    job.processesOfRank(rank).getFirst());
            Result result = job.await();
            assertThat(result.exitCode()).as(result.err()).isEqualTo(each.fault().exitCode);
            assertThat(result.err()).contains(words(each.fault(), rank, victim));
            checkInformed(each.fault(), hostSet, victim, result);
        } finally {
            job.processes().forEach(pid -> JRun.kill("KILL", pid)); // of a case that failed
            hosts.plugIn(victim);
        }
    }

    private static void strike(Fault fault, HostAgents agents, String victim, String worker) {
        switch (fault) {
            case WORKER_KILLED -> JRun.kill("KILL", worker);
            case AGENT_KILLED -> agents.on(victim).signal("KILL");
            case POWER_OFF -> agents.powerOff(victim);
            case LINK_DOWN -> hosts.unplug(victim);
            case WORKER_STOPPED -> JRun.kill("STOP", worker);
        }
    }

    private static String words(Fault fault, int rank, String victim) {
        return switch (fault) {
            case WORKER_KILLED -> "jrun: first failure: rank " + rank + " on " + victim + " ended by SIGKILL";
            case AGENT_KILLED, POWER_OFF, LINK_DOWN -> "jrun: lost the agent of " + victim + ": ";
            case WORKER_STOPPED -> "jrun: first failure: rank " + rank + " on " + victim + " (pid ";
        };
    }

    private void checkInformed(Fault fault, HostSet hostSet, String victim, Result result) throws IOException {
        List<String> expected = new ArrayList<>(hostSet.names());
        if (fault.takesTheAgent()) {
            expected.remove(victim);
        }
        JsonNode latencies = new JsonMapper().readTree(result.out()).path("failureBroadcastSeconds");
        for (String host : expected) {
            assertThat(latencies.path(host).isNumber()).as(result.out()).isTrue();
            long millis = Math.round(latencies.path(host).asDouble() * 1000);
            BROADCAST_MILLIS.add(millis);
            assertThat(millis).as(result.out()).isLessThan(MOST_MILLIS_TO_TELL);
            assertThat(jrun.logs().resolve("agent-" + host + ".log")).content().contains(" round 1 is aborted: ");
        }
    }
}
