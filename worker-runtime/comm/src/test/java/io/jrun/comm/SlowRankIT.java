package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.PausePoint;
import io.jrun.comm.join.LocalCoordinator;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorld.Interference;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.comm.tcp.TcpOptions;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;

/**
 * Ranks wait for a rank that stops for a moment, at any step of a call with several parts. The other ranks, which are
 * at different parts with different algorithms meanwhile, must not report a mismatch.
 */
@Timeout(180)
class SlowRankIT {
    /** Longer than the interval at which a waiting rank checks the data of the other ranks. */
    private static final Duration MOMENT = Duration.ofMillis(250);

    private static final List<Integer> NODES = List.of(2, 2, 2);
    private static final long PIECE_BYTES = 1 << 20;

    /** Holds up one rank once, at its k-th step. */
    private static final class Holding implements Interference {
        private final String place;
        private final int slow;
        private final AtomicBoolean held = new AtomicBoolean();

        Holding(OpKind kind, int slow, int step) {
            this.place = kind.methodName() + "#0:step@" + step;
            this.slow = slow;
        }

        @Override
        public PausePoint pauseOf(int rank, LocalCoordinator coordinator) {
            return rank == slow ? PausePoint.at(place, this::hold) : PausePoint.NONE;
        }

        private void hold() {
            if (held.compareAndSet(false, true)) {
                long end = System.nanoTime() + MOMENT.toNanos();
                for (long left = MOMENT.toNanos(); left > 0; left = end - System.nanoTime()) {
                    LockSupport.parkNanos(left);
                }
            }
        }
    }

    /** Each has a large part, by a ring or a chain, and a small one after it, by a tree or by doubling. */
    @ParameterizedTest
    @SampledCases(
            count = 2,
            value = {"ALL_REDUCE, 262145, 0", "ALL_REDUCE, 262145, 2", "BROADCAST, 280001, 0", "BROADCAST, 280001, 2"})
    void aMomentAtAnyStepIsWaitedFor(OpKind kind, int count, int slow) {
        int step = 0;
        Holding holding;
        do {
            step++;
            holding = new Holding(kind, slow, step);
            run(kind, count, holding);
        } while (holding.held.get());
        assertThat(step).as("steps of rank " + slow).isGreaterThan(4);
    }

    private static void run(OpKind kind, int count, Holding holding) {
        LocalWorldOptions options =
                LocalWorldOptions.ofNodes(NODES).withTcp(TcpOptions.DEFAULT.withPieceBytes(PIECE_BYTES));
        LocalWorld.run(options, holding, world -> {
            ProcessGroup group = world.group();
            int[] data = new int[count];
            data[count - 1] = 1;
            MemorySegment memory = MemorySegment.ofArray(data);
            if (kind == OpKind.BROADCAST) {
                group.broadcast(memory, DataType.I32, count, 0);
                assertThat(memory.getAtIndex(ValueLayout.JAVA_INT, count - 1)).isEqualTo(1);
            } else {
                group.allReduce(memory, DataType.I32, count, ReduceOp.SUM);
                assertThat(memory.getAtIndex(ValueLayout.JAVA_INT, count - 1)).isEqualTo(6);
            }
        });
    }
}
