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
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Whatever happens to one of several hosts in the middle of collectives: the right cause, the right exit code, every other node
 * told, and nothing left anywhere. Twice each; under {@code -Djrun.soak=true} fifty times, and then told within a second.
 */
class HostFaultsIT extends RealJobs {
    private static final boolean SOAK = Boolean.getBoolean("jrun.soak");
    private static final int HOSTS = SOAK ? 4 : 2;

    @TempDir
    private static Path ofAgents;

    private static TestHosts hosts;
    private static HostAgents agents;

    /** What happens to a host or to the worker on it. */
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
    }

    /** One case; the seed chooses victim and moment. */
    record Case(Fault fault, int seed) {}

    static Stream<Case> cases() {
        return Stream.of(Fault.values())
                .flatMap(fault -> IntStream.range(0, SOAK ? 50 : 2).mapToObj(seed -> new Case(fault, seed)));
    }

    @BeforeAll
    static void bringUp() {
        hosts = TestHosts.up(HOSTS);
        agents = new HostAgents(hosts, ofAgents);
    }

    @AfterAll
    static void takeDown() {
        if (hosts != null) {
            agents.close();
            hosts.close();
        }
    }

    @BeforeEach
    void prepareHosts() {
        agents.start(IntStream.rangeClosed(1, HOSTS).mapToObj(i -> "h" + i).toList());
        Jars.program(folder.resolve("work.jar"), "Work", """
                import io.jrun.comm.*;
                import java.lang.foreign.MemorySegment;
                public class Work {
                    public static void main(String[] args) {
                        try (World world = Distributed.init()) {
                            MemorySegment data = MemorySegment.ofArray(new float[10_000]);
                            for (int step = 0; ; step++) {
                                world.group().allReduce(data, DataType.F32, 10_000, ReduceOp.SUM);
                                if (step == 10) System.out.println("up");
                            }
                        }
                    }
                }
                """);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void faultIsNamedAndNothingIsLeft(Case each) throws IOException {
        Random random = new Random(each.seed());
        int rank = random.nextInt(HOSTS);
        String victim = "h" + (rank + 1);
        Running job = jrun.startUnder(
                hosts.on("head"),
                "--secret-file=" + agents.secret(),
                "--hosts=h[1-" + HOSTS + "]:1",
                "--worker-timeout=4",
                "--shutdown-timeout=1",
                "--json",
                "work.jar");
        for (int i = 0; i < HOSTS; i++) {
            String line = "[" + i + "@h" + (i + 1) + "] up";
            JRun.waitFor(() -> job.err().contains(line), "'" + line + "'"); // with --json it goes there
        }
        LockSupport.parkNanos(random.nextLong(200_000_000)); // any moment will do
        Result result;
        try {
            strike(each.fault(), victim, job.processesOfRank(rank).getFirst());
            result = job.await();
        } finally {
            hosts.plugIn(victim);
        }
        assertThat(result.exitCode()).as(result.err()).isEqualTo(each.fault().exitCode);
        assertThat(result.err()).contains(words(each.fault(), rank, victim));
        checkTold(each.fault(), victim, result);
    }

    private static void strike(Fault fault, String victim, String worker) {
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

    private void checkTold(Fault fault, String victim, Result result) throws IOException {
        List<String> expected = new ArrayList<>(agents.names());
        if (fault != Fault.WORKER_KILLED && fault != Fault.WORKER_STOPPED) {
            expected.remove(victim);
        }
        JsonNode told = new JsonMapper().readTree(result.out()).path("toldMillis");
        List<String> heard = new ArrayList<>();
        told.fieldNames().forEachRemaining(heard::add);
        assertThat(heard).as(result.out()).containsAll(expected);
        for (String host : expected) {
            assertThat(jrun.logs().resolve("agent-" + host + ".log")).content().contains(" round 1 is aborted: ");
        }
        if (SOAK) {
            assertThat(expected)
                    .allSatisfy(host -> assertThat(told.path(host).asLong()).isLessThan(1000));
        }
    }
}
