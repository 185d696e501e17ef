package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.WorkerPrograms.EveryOperation;
import io.jrun.comm.WorkerPrograms.ReduceForever;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;

/** Real processes on hosts of their own, that is, in network namespaces: shared memory on each, TCP between them. */
@Timeout(120)
class NetworkNamespacesIT {
    private static final List<Integer> TWO_AND_ONE = List.of(2, 1);

    @BeforeAll
    static void hosts() throws Exception {
        NetworkHosts.assumePossible();
    }

    @Test
    void everyOperationIsExact() throws Exception {
        try (NetworkHosts hosts = NetworkHosts.start(2, "");
                TestAgent agent = new TestAgent(TWO_AND_ONE, hosts, TransportKind.AUTO)) {
            for (Process process : agent.start(EveryOperation.class, List.of())) {
                assertThat(TestAgent.exitCode(process)).as(agent.output(0)).isZero();
            }
            assertThat(agent.output(2)).contains("rank 2 of 3 did everything");
        }
    }

    /** The victim drives the network, is an extra rank, or is alone on its node. */
    @ParameterizedTest(name = "rank {0}, {1}")
    @SampledCases(
            count = 2,
            value = {
                "1, allocate#0:mapped",
                "0, allReduce#7:enter",
                "1, allReduce#7:enter",
                "2, allReduce#7:enter",
                "0, allReduce#7:exit",
                "1, allReduce#7:exit",
                "2, allReduce#7:exit",
                "1, allReduce#7:reduce",
                "2, allReduce#7:reduce"
            })
    void everySurvivorNamesTheKilledRank(int victim, String place) throws Exception {
        try (NetworkHosts hosts = NetworkHosts.start(2, "");
                TestAgent agent = new TestAgent(TWO_AND_ONE, hosts, TransportKind.AUTO)) {
            List<Process> processes =
                    agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=" + victim + ":" + place));
            agent.awaitOutput(victim, "jrun-test: paused at " + place);
            Process killed = processes.get(victim).destroyForcibly();
            for (int rank = 0; rank < processes.size(); rank++) {
                if (rank != victim) {
                    assertThat(TestAgent.exitCode(processes.get(rank))).isEqualTo(1);
                    assertThat(agent.output(rank))
                            .contains("rank " + victim + " (host testhost" + (victim < 2 ? 0 : 1) + ", pid "
                                    + killed.pid() + ")")
                            .contains("allReduce #");
                }
            }
        }
        try (var files = Files.list(Path.of("/dev/shm"))) {
            assertThat(files.map(Path::toString)).noneMatch(name -> name.contains(TestAgent.FOLDER_START));
        }
    }
}
