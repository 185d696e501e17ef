package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.WorkerPrograms.EverythingForever;
import io.jrun.comm.WorkerPrograms.RankOneSendsNothing;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A process is killed at a random moment of random collectives. The other processes end, and report one cause that
 * names the process. A few seeds for one node and for several; {@code -Djrun.soak=true} runs 100 each,
 * {@code -Djrun.seed=N} one seed.
 */
@Timeout(600)
class RandomKillsIT {
    private static final int SIZE = 3;
    private static final List<List<Integer>> NODES =
            List.of(List.of(2, 1), List.of(2, 2), List.of(1, 2), List.of(3, 1), List.of(1, 1, 2));

    static LongStream seeds() {
        return Seeds.of(2, 100);
    }

    static LongStream seedsOfNodes() {
        return Seeds.of(2, 100);
    }

    @ParameterizedTest(name = "-Djrun.seed={0}")
    @MethodSource("seeds")
    void theOthersReportOneCause(long seed) throws Exception {
        TransportKind transport = seed % 2 == 0 ? TransportKind.TCP : TransportKind.SHM;
        theOthersReportOneCause(new TestAgent(SIZE, transport), SIZE, "testhost", seed);
    }

    @ParameterizedTest(name = "-Djrun.seed={0}")
    @MethodSource("seedsOfNodes")
    void theOthersOfSeveralNodesReportOneCause(long seed) throws Exception {
        List<Integer> nodes = NODES.get((int) (seed % NODES.size()));
        int size = nodes.stream().mapToInt(Integer::intValue).sum();
        TestAgent agent = new TestAgent(nodes);
        if (seed % 2 == 1) {
            agent.setVariable("JRUN_PIECE_BYTES", "32768"); // Else every call is one piece.
        }
        theOthersReportOneCause(agent, size, "testhost\\d", seed);
    }

    /** A stopped rank misses the reports of the other ranks, and finds the other ranks gone when it continues. */
    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void aRankThatIsStoppedMeanwhileReportsTheSame(TransportKind transport) throws Exception {
        try (TestAgent agent = new TestAgent(SIZE, transport)) {
            List<Process> processes = agent.start(RankOneSendsNothing.class, List.of());
            for (int rank = 0; rank < SIZE; rank++) {
                agent.awaitOutput(rank, "has begun");
            }
            signal("STOP", processes.get(2));
            processes.get(1).destroyForcibly();
            assertThat(TestAgent.exitCode(processes.get(0))).isEqualTo(1);
            signal("CONT", processes.get(2));
            assertThat(TestAgent.exitCode(processes.get(2))).isEqualTo(1);
            assertThat(Survivors.cause(agent, 2))
                    .isEqualTo(Survivors.cause(agent, 0))
                    .contains("recv #0(i32, 1, from 1)");
        }
    }

    private static void signal(String name, Process process) throws Exception {
        Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start();
        assertThat(TestAgent.exitCode(kill)).isZero();
    }

    private static void theOthersReportOneCause(TestAgent started, int size, String host, long seed) throws Exception {
        SplittableRandom random = new SplittableRandom(seed);
        int victim = random.nextInt(size);
        String runId;
        try (TestAgent agent = started) {
            runId = agent.runId();
            List<Process> processes = agent.start(EverythingForever.class, List.of(), Long.toString(seed));
            for (int rank = 0; rank < size; rank++) {
                agent.awaitOutput(rank, "has begun");
            }
            LockSupport.parkNanos(random.nextLong(TimeUnit.MILLISECONDS.toNanos(300)));
            processes.get(victim).destroyForcibly();

            Survivors.assertOneCause(agent, processes, victim, host);
        }
        Survivors.assertNothingIsLeft(runId);
    }
}
