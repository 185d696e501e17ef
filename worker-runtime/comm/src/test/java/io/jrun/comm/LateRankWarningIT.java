package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.jrun.comm.WorkerPrograms.MismatchWithoutRankTwo;
import io.jrun.comm.WorkerPrograms.RankOneReadsItsData;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Waiting ranks report the locations of late ranks. The launcher's tests cover the agent's side. */
@Timeout(120)
class LateRankWarningIT {
    private static String rankOne(List<Process> processes) {
        return "rank 1 (host testhost, pid " + processes.get(1).pid()
                + ") has completed barrier #0 on group world and has entered no other operation of that group\n"
                + "    \"main\" WAITING\n";
    }

    @ParameterizedTest
    @SampledCases(
            count = 1,
            value = {"SHM", "TCP"})
    void theWarningHasTheStackOfTheRankThatDoesNotCome(TransportKind transport) throws Exception {
        try (TestAgent agent = new TestAgent(3, transport)) {
            agent.setVariable("JRUN_LATE_WARNING_SECONDS", "1");
            List<Process> processes = agent.start(RankOneReadsItsData.class, List.of());
            agent.awaitOutput(0, "also in the operation: rank 2\n");
            assertThat(agent.output(0))
                    .containsOnlyOnce("barrier #1 on group world has waited 1 s (it fails after 60 s) for ")
                    .containsOnlyOnce("jrun: rank 0: barrier #1 on group world waits, while:\n  " + rankOne(processes))
                    .contains("$RankOneReadsItsData.readData(WorkerPrograms.java:")
                    .containsPattern("\n {4}and \\d+ other threads\n");
            assertThat(processes).allMatch(Process::isAlive);
        }
    }

    @ParameterizedTest
    @SampledCases(
            count = 1,
            value = {"SHM", "TCP"})
    void theErrorOfEveryRankHasItToo(TransportKind transport) throws Exception {
        try (TestAgent agent = new TestAgent(3, transport)) {
            agent.setTimeoutSeconds(2);
            List<Process> processes = agent.start(RankOneReadsItsData.class, List.of());
            for (int rank : List.of(0, 2)) {
                assertThat(TestAgent.exitCode(processes.get(rank))).isEqualTo(1);
                assertThat(agent.output(rank))
                        .contains("barrier #1 on group world")
                        .contains(rankOne(processes))
                        .contains("$RankOneReadsItsData.readData(WorkerPrograms.java:");
            }
            assertThat(agent.output(0) + agent.output(2)).contains("also in the operation: rank ");
        }
    }

    /** An error does not wait for a location that comes late, so a busy machine may need several runs. */
    @ParameterizedTest
    @SampledCases(
            count = 1,
            value = {"SHM", "TCP"})
    void aMismatchReportsTheLocationOfARankWithoutACall(TransportKind transport) throws Exception {
        boolean located = false;
        for (int run = 0; run < 4 && !located; run++) {
            try (TestAgent agent = new TestAgent(3, transport)) {
                List<Process> processes = agent.start(MismatchWithoutRankTwo.class, List.of());
                located = true;
                for (int rank : List.of(0, 1)) {
                    assertThat(TestAgent.exitCode(processes.get(rank))).isEqualTo(1);
                    assertThat(agent.output(rank))
                            .containsPattern("called barrier #1\\b")
                            .contains("called allReduce #1(f32, 100, SUM)", "group world");
                    located &= agent.output(rank)
                                    .contains("  rank 2 (host testhost, pid "
                                            + processes.get(2).pid()
                                            + ") has completed barrier #0 on group world and has")
                            && agent.output(rank).contains("$MismatchWithoutRankTwo.main(");
                }
            }
        }
        assertThat(located).isTrue();
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void theWarningDistinguishesRanksOfOneProcess(TransportKind transport) {
        CountDownLatch failed = new CountDownLatch(1);
        LocalWorldOptions options =
                LocalWorldOptions.ofSize(2).withTransport(transport).withTimeout(Duration.ofSeconds(1));
        LocalWorld.run(options, world -> {
            world.group().barrier();
            if (world.rank() == 1) {
                failed.await();
                return;
            }
            CommException failure = catchThrowableOfType(
                    CommException.class, () -> world.group().barrier());
            assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_TIMEOUT);
            assertThat(failure)
                    .hasMessageContaining(
                            ") has completed barrier #0 on group world and has entered no other operation of")
                    .hasMessageContaining("    \"rank-1\" WAITING")
                    .hasMessageContaining("LateRankWarningIT");
            failed.countDown();
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void thePeerOfAMessageIsAskedForItsLocation(TransportKind transport) {
        CountDownLatch failed = new CountDownLatch(1);
        LocalWorldOptions options =
                LocalWorldOptions.ofSize(2).withTransport(transport).withTimeout(Duration.ofSeconds(1));
        LocalWorld.run(options, world -> {
            world.group().barrier();
            if (world.rank() == 1) {
                failed.await();
                return;
            }
            CommException failure = catchThrowableOfType(
                    CommException.class,
                    () -> world.group().recv(MemorySegment.ofArray(new int[1]), DataType.I32, 1, 1));
            assertThat(failure)
                    .hasMessageContaining("recv #0(i32, 1, from 1)")
                    .hasMessageContaining("\"rank-1\" WAITING");
            failed.countDown();
        });
    }
}
