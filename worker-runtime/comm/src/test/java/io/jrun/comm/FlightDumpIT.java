package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.WorkerPrograms.ReduceForever;
import io.jrun.comm.WorkerPrograms.ReduceWithoutRankOne;
import io.jrun.comm.flight.FlightRecorder;
import io.jrun.comm.record.OperationRecord;
import io.jrun.comm.record.OperationState;
import io.jrun.comm.record.RankRecord;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The flight recorder dumps of failing processes. The launcher's tests read dumps with jrun's own command. */
@Timeout(120)
class FlightDumpIT {
    private static Path file(TestAgent agent, int rank) {
        return agent.logFolder(rank).resolve("flight.bin");
    }

    private static RankRecord dump(TestAgent agent, int rank) throws IOException {
        RankRecord dump = RankRecord.decode(Files.readAllBytes(file(agent, rank)));
        assertThat(dump.rank()).isEqualTo(rank);
        assertThat(dump.worldSize()).isEqualTo(2);
        assertThat(dump.host()).isEqualTo("testhost");
        for (OperationRecord operation : dump.operations()) {
            assertThat(operation.queuedAgoNanos()).isNotNegative();
            assertThat(operation.startedAgoNanos()).isLessThanOrEqualTo(operation.queuedAgoNanos());
            assertThat(operation.endedAgoNanos()).isLessThanOrEqualTo(operation.startedAgoNanos());
        }
        return dump;
    }

    private static OperationState state(RankRecord dump, String call) {
        return dump.operations().stream()
                .filter(operation -> operation.call().equals(call))
                .findFirst()
                .orElseThrow()
                .state();
    }

    @Test
    void aRankThatEntersNothingIsNamedInAWarningAndDumpsWhenTheJobIsAborted() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            agent.setTimeoutSeconds(3);
            agent.setVariable("JRUN_LATE_WARNING_SECONDS", "1");
            List<Process> processes = agent.start(ReduceWithoutRankOne.class, List.of());
            assertThat(TestAgent.exitCode(processes.getFirst())).isEqualTo(1);
            String missing = "rank 1 (host testhost, pid " + processes.get(1).pid() + ")";
            assertThat(agent.output(0))
                    .containsOnlyOnce("jrun: rank 0: allocate #0(1048576 bytes) on group world has waited 1 s (it fails"
                            + " after 3 s) for " + missing + ", which has entered no operation\n")
                    .contains("timed out after 3 s: " + missing + " did not come. A rank may be");
            assertThat(dump(agent, 0).reason()).contains("COLLECTIVE_TIMEOUT");
            agent.abort("rank 0 failed");
            TestAgent.await("dump of rank 1", () -> Files.exists(file(agent, 1)));
            RankRecord late = dump(agent, 1);
            assertThat(late.operations()).isEmpty();
            assertThat(late.started("world")).isZero();
            assertThat(late.reason()).isEqualTo("ABORTED: the job is stopping: rank 0 failed");
        }
    }

    @Test
    void aKilledRankLeavesNoDumpAndItsPeerReportsWhereItWaited() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            List<Process> processes =
                    agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=1:allReduce#3000:enter"));
            agent.awaitOutput(1, "jrun-test: paused at allReduce#3000:enter");
            processes.get(1).destroyForcibly();
            assertThat(TestAgent.exitCode(processes.getFirst())).isEqualTo(1);
            assertThat(file(agent, 1)).doesNotExist();
            RankRecord dump = dump(agent, 0);
            assertThat(dump.operations()).hasSize(FlightRecorder.CAPACITY);
            assertThat(dump.isWhole()).isFalse();
            assertThat(dump.reason())
                    .startsWith("PEER_LOST: rank 1")
                    .contains(
                            "Positions of the ranks: rank 0 is in allReduce #3000(f32, 262144, SUM); rank 1 was killed")
                    .endsWith(" in allReduce #3000(f32, 262144, SUM).");
            assertThat(dump.operations().getLast().call()).isEqualTo("allReduce #3000(f32, 262144, SUM)");
            assertThat(dump.operations().getLast().state()).isEqualTo(OperationState.FAILED);
        }
    }

    @Test
    void overTcpTheWarningNamesTheLateRankWhichDumpsWhenItIsTerminated() throws Exception {
        try (TestAgent agent = new TestAgent(2, TransportKind.TCP)) {
            agent.setVariable("JRUN_LATE_WARNING_SECONDS", "1");
            List<Process> processes =
                    agent.start(ReduceForever.class, List.of("-Djrun.test.pauseAt=1:allReduce#7:enter"));
            agent.awaitOutput(0, "jrun: rank 0: allReduce #7(f32, 262144, SUM) on group world has waited 1 s");
            assertThat(agent.output(0))
                    .contains("for data from rank 1 (host testhost, pid "
                            + processes.get(1).pid() + ")");
            processes.get(1).destroy();
            assertThat(TestAgent.exitCode(processes.get(1))).isEqualTo(143);
            assertThat(dump(agent, 1).reason()).contains("by a signal or System.exit");
        }
    }

    /** Sends a message of tag 7 to rank 1, which waits for one of tag 8. */
    public static final class WrongTag {
        private WrongTag() {}

        /** Entry point. */
        public static void main(String[] args) {
            try (World world = Distributed.init()) {
                MemorySegment one = MemorySegment.ofArray(new int[1]);
                if (world.rank() == 0) {
                    world.group().messages().send(one, DataType.I32, 1, 1, 7);
                } else {
                    world.group().messages().recv(one, DataType.I32, 1, 0, 8);
                }
                world.group().barrier();
            }
        }
    }

    @Test
    void messagesAreDumpedWithTheirTags() throws Exception {
        try (TestAgent agent = new TestAgent(2)) {
            agent.setTimeoutSeconds(3);
            for (Process process : agent.start(WrongTag.class, List.of())) {
                assertThat(TestAgent.exitCode(process)).isEqualTo(1);
            }
            OperationRecord send = dump(agent, 0).operations().getFirst();
            assertThat(send.call()).isEqualTo("send #0(i32, 1, tag 7, to 1)");
            assertThat(send.state()).isEqualTo(OperationState.COMPLETED);
            assertThat(List.of(send.peer(), send.tag(), (int) send.count())).containsExactly(1, 7, 1);
            OperationRecord receive = dump(agent, 1).operations().getFirst();
            assertThat(receive.call()).isEqualTo("recv #0(i32, 1, tag 8, from 0)");
            assertThat(receive.state()).isEqualTo(OperationState.FAILED);
            assertThat(List.of(receive.peer(), receive.tag())).containsExactly(0, 8);
        }
    }

    /** Rank 1 comes a tenth of a second late to operation #2, and calls another operation #5 than rank 0. */
    public static final class LateThenMismatch {
        private LateThenMismatch() {}

        /** Entry point. */
        public static void main(String[] args) throws InterruptedException {
            try (World world = Distributed.init()) {
                MemorySegment data = MemorySegment.ofArray(new float[100]);
                for (int call = 0; call < 5; call++) {
                    if (call == 2 && world.rank() == 1) {
                        Thread.sleep(100);
                    }
                    world.group().allReduce(data, DataType.F32, 100, ReduceOp.SUM);
                }
                if (world.rank() == 1) {
                    world.group().barrier();
                } else {
                    world.group().allReduce(data, DataType.F32, 100, ReduceOp.SUM);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void everyRankDumpsItsOwnCallsAndTheRankThatEachOneHasWaitedFor(TransportKind transport) throws Exception {
        try (TestAgent agent = new TestAgent(2, transport)) {
            for (Process process : agent.start(LateThenMismatch.class, List.of())) {
                assertThat(TestAgent.exitCode(process)).isEqualTo(1);
            }
            RankRecord dump = dump(agent, 0);
            assertThat(dump.reason()).startsWith("COLLECTIVE_MISMATCH: ");
            assertThat(dump.groups()).singleElement().satisfies(world -> {
                assertThat(world.ranks()).containsExactly(0, 1);
                assertThat(world.started()).isEqualTo(6);
                assertThat(world.completed()).isEqualTo(5);
            });
            assertThat(state(dump, "allReduce #0(f32, 100, SUM)")).isEqualTo(OperationState.COMPLETED);
            assertThat(state(dump, "allReduce #5(f32, 100, SUM)")).isEqualTo(OperationState.FAILED);
            assertThat(state(dump(agent, 1), "barrier #5")).isEqualTo(OperationState.FAILED);
            List<OperationRecord> operations = dump.operations();
            assertThat(operations).hasSize(6);
            assertThat(operations.get(2).call()).isEqualTo("allReduce #2(f32, 100, SUM)");
            assertThat(operations.get(2).lateRank()).isEqualTo(1);
            assertThat(operations.get(2).lateNanos()).isBetween(50_000_000L, 60_000_000_000L);
            assertThat(operations.subList(0, 5))
                    .as("a small operation without a wait has no end")
                    .allMatch(small -> (small.endedAgoNanos() == OperationRecord.NEVER) == (small.lateRank() < 0));
            assertThat(operations.getLast().endedAgoNanos()).isNotNegative();
        }
    }
}
