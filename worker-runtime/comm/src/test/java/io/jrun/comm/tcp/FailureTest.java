package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.tcp.TcpRanks.Rank;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The errors of the survivors when a rank is lost, slow, wrong, or aborted. */
class FailureTest {
    private static final int LARGE = 4 << 20;

    private static Call sum(long sequence, int count) {
        return Calls.allReduce(sequence, MemorySegment.ofArray(new float[count]), DataType.F32, ReduceOp.SUM);
    }

    private static CommException failure(Optional<Throwable> outcome) {
        assertThat(outcome).get().isInstanceOf(CommException.class);
        return (CommException) outcome.orElseThrow();
    }

    @Test
    void everySurvivorNamesTheLostRankAndTheOperation() throws Exception {
        try (TcpRanks world = TcpRanks.start(4)) {
            world.run(rank -> rank.backend().run(sum(0, 1000)));
            List<Future<?>> survivors = IntStream.of(0, 1, 3)
                    .<Future<?>>mapToObj(rank ->
                            world.submit(rank, self -> self.backend().run(sum(1, LARGE))))
                    .toList();

            world.leave(2);

            for (Future<?> survivor : survivors) {
                CommException failure = failure(TcpRanks.outcome(survivor));
                assertThat(failure.code()).isEqualTo(ErrorCode.PEER_LOST);
                assertThat(failure).hasMessageContaining("rank 2 (host testhost, pid 4002)");
                assertThat(failure).hasMessageContaining("allReduce #1");
            }
        }
    }

    @Test
    void aRankThatNeverConnectedAndHasLeftIsLostAtOnce() throws Exception {
        try (TcpRanks world = TcpRanks.start(2)) {
            world.leave(1);
            Rank rank = world.rank(0);
            rank.health().left(1, "returned from main");
            rank.backend().healthChanged();

            CommException failure = failure(TcpRanks.outcome(
                    world.submit(0, self -> self.backend().run(sum(0, 10)))));

            assertThat(failure.code()).isEqualTo(ErrorCode.PEER_LOST);
            assertThat(failure).hasMessageContaining("rank 1").hasMessageContaining("returned from main");
        }
    }

    /**
     * A rank like a stopped process: its kernel accepts, and no thread reads. Twenty waits in a row would take twice as
     * long.
     */
    @Test
    void aRankThatDoesNotAnswerHoldsUpTheFirstOfManyFailingCallsOnly() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                TcpRanks world = TcpRanks.start(2, (rank, port) -> rank == 1 ? silent.getLocalPort() : port)) {
            CommException lost = new CommException(ErrorCode.PEER_LOST, "rank 1 does not answer");
            assertTimeout(Duration.ofSeconds(9), () -> {
                for (int call = 0; call < 20; call++) {
                    assertThat(world.rank(0).backend().settle(lost)).isSameAs(lost);
                }
            });
        }
    }

    @Test
    void aDepartureWakesARankThatWaits() throws Exception {
        try (TcpRanks world = TcpRanks.start(2)) {
            Future<?> waiting = world.submit(0, self -> self.backend().run(sum(0, 10)));
            world.rank(0).health().left(1, "was killed by SIGKILL");
            world.rank(0).backend().healthChanged();

            assertThat(failure(TcpRanks.outcome(waiting))).hasMessageContaining("was killed by SIGKILL");
        }
    }

    /** As when a thread of it, or a child that it has started, lives on. */
    @Test
    void aRankThatHasLeftIsLostThoughItsConnectionStaysOpen() throws Exception {
        try (TcpRanks world = TcpRanks.start(2)) {
            world.run(rank -> rank.backend().run(Calls.barrier(0)));
            Future<?> waiting = world.submit(0, self -> self.backend().run(sum(1, 10)));
            world.rank(0).health().left(1, "was killed by SIGKILL");
            world.rank(0).backend().healthChanged();

            CommException failure = failure(TcpRanks.outcome(waiting));
            assertThat(failure.code()).isEqualTo(ErrorCode.PEER_LOST);
            assertThat(failure).hasMessageContaining("rank 1").hasMessageContaining("was killed by SIGKILL");
        }
    }

    @Test
    void messagesOfALeavingRankStayReadable() throws Exception {
        try (TcpRanks world = TcpRanks.start(2)) {
            int[] sent = {1, 2, 3};
            int[] received = new int[3];
            // The first message opens the connection; the second is in the kernel when the sender closes.
            Future<?> first = world.submit(0, self -> self.backend().run(message(OpKind.RECV, 0, received, 1)));
            TcpRanks.outcome(world.submit(1, self -> {
                self.backend().run(message(OpKind.SEND, 0, new int[3], 0));
                self.backend().run(message(OpKind.SEND, 1, sent, 0));
            }));
            TcpRanks.outcome(first);
            world.leave(1);
            world.rank(0).health().left(1, "returned from main");
            world.rank(0).backend().healthChanged();

            assertThat(TcpRanks.outcome(world.submit(
                            0, self -> self.backend().run(message(OpKind.RECV, 1, received, 1)))))
                    .isEmpty();
            assertThat(received).isEqualTo(sent);
            assertThat(failure(TcpRanks.outcome(world.submit(
                            0, self -> self.backend().run(message(OpKind.RECV, 2, received, 1))))))
                    .hasMessageContaining("returned from main");
        }
    }

    private static Call message(OpKind kind, long sequence, int[] data, int peer) {
        return Calls.message(kind, sequence, MemorySegment.ofArray(data), peer);
    }

    @Test
    void differentCallsNameBothRanksAndBothCallsOnBothSides() throws Exception {
        try (TcpRanks world = TcpRanks.start(2)) {
            List<Optional<Throwable>> outcomes =
                    world.outcomes(rank -> rank.backend().run(rank.rank() == 0 ? sum(0, 100) : Calls.barrier(0)));

            for (Optional<Throwable> outcome : outcomes) {
                CommException failure = failure(outcome);
                assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH);
                assertThat(failure)
                        .hasMessageContaining("rank 0 (")
                        .hasMessageContaining("allReduce #0(f32, 100, SUM)");
                assertThat(failure).hasMessageContaining("rank 1 (").hasMessageContaining("barrier #0");
            }
        }
    }

    @Test
    void differentCountsAreAMismatchEvenWhereOneMovesNothing() throws Exception {
        try (TcpRanks world = TcpRanks.start(3)) {
            List<Optional<Throwable>> outcomes =
                    world.outcomes(rank -> rank.backend().run(sum(0, rank.rank() == 1 ? 0 : 5000)));

            for (Optional<Throwable> outcome : outcomes) {
                assertThat(failure(outcome).code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH);
            }
        }
    }

    /**
     * Rank 2 waits for the root only, the root waits for rank 1, and rank 1 waits for rank 2. No rank reads the
     * differing frame.
     */
    @Test
    void aMismatchIsReportedIfRanksWaitForEachOtherInACircle() throws Exception {
        try (TcpRanks world = TcpRanks.start(3)) {
            List<Optional<Throwable>> outcomes = world.outcomes(rank -> {
                MemorySegment buffer = MemorySegment.ofArray(new float[100]);
                Call broadcast = Calls.of(0, OpKind.BROADCAST, DataType.F32, 100, 0, buffer, buffer);
                rank.backend().run(rank.rank() == 2 ? broadcast : sum(0, 100));
            });

            for (Optional<Throwable> outcome : outcomes) {
                assertThat(failure(outcome).code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH);
                assertThat(failure(outcome))
                        .hasMessageContaining("allReduce #0")
                        .hasMessageContaining("broadcast #0");
            }
        }
    }

    @Test
    void aPassedDeadlineNamesTheRanksWaitedForAndEndsTheOthersWaits() throws Exception {
        try (TcpRanks world = TcpRanks.start(3)) {
            world.run(rank -> rank.backend().run(Calls.barrier(0)));
            Future<?> patient = world.submit(1, self -> self.backend().run(sum(1, LARGE)));
            Future<?> impatient = world.submit(
                    0, self -> self.backend().run(Calls.withTimeout(sum(1, LARGE), Duration.ofMillis(200))));

            for (Future<?> each : List.of(patient, impatient)) {
                CommException failure = failure(TcpRanks.outcome(each));
                assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_TIMEOUT);
                assertThat(failure).hasMessageContaining("data from rank 2 (host testhost, pid 4002)");
            }
        }
    }

    @Test
    void poisonFromAnotherThreadEndsAWaitAndReachesThePeers() throws Exception {
        try (TcpRanks world = TcpRanks.start(3)) {
            world.run(rank -> rank.backend().run(Calls.barrier(0)));
            Future<?> first = world.submit(0, self -> self.backend().run(sum(1, LARGE)));
            Future<?> second = world.submit(1, self -> self.backend().run(sum(1, LARGE)));
            Backend poisoned = world.rank(0).backend();
            world.rank(0).health().poison(new CommException(ErrorCode.ABORTED, "the program said stop"));
            poisoned.healthChanged();

            for (Future<?> each : List.of(first, second)) {
                CommException failure = failure(TcpRanks.outcome(each));
                assertThat(failure.code()).isEqualTo(ErrorCode.ABORTED);
                assertThat(failure).hasMessageContaining("the program said stop");
            }
        }
    }

    @Test
    void aPoisonedGroupAnswersRanksThatConnectLater() throws Exception {
        try (TcpRanks world = TcpRanks.start(2)) {
            world.rank(1).health().poison(new CommException(ErrorCode.ABORTED, "stopped before it began"));

            CommException failure = failure(TcpRanks.outcome(
                    world.submit(0, self -> self.backend().run(sum(0, 1)))));

            assertThat(failure).hasMessageContaining("stopped before it began");
        }
    }
}
