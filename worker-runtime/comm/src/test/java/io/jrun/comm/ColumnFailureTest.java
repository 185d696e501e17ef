package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.backend.PausePoint;
import io.jrun.comm.join.LocalCoordinator;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorld.Interference;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.comm.tcp.TcpOptions;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Rank 1 of two nodes has begun to send its part of the first piece, and waits for rank 0 in the second piece. A
 * failure of one of these two steps is reported to the other.
 */
@Timeout(60)
class ColumnFailureTest {
    private static final LocalWorldOptions TWO_BY_TWO = LocalWorldOptions.ofNodes(List.of(2, 2))
            .withTcp(TcpOptions.DEFAULT.withPieceBytes(16 << 10))
            .withTimeout(Duration.ofSeconds(40));
    private static final int COUNT = 40_000;

    private final Map<Integer, CommException> failures = new ConcurrentHashMap<>();

    /**
     * The action of rank 0 in its node when the second piece begins, and of rank 1 on the other thread when the first
     * piece is sent.
     */
    private record Trouble(Runnable inNode, Runnable beside, AtomicInteger pieces) implements Interference {
        Trouble(Runnable inNode, Runnable beside) {
            this(inNode, beside, new AtomicInteger());
        }

        @Override
        public PausePoint pauseOf(int rank, LocalCoordinator coordinator) {
            return switch (rank) {
                case 0 -> PausePoint.at("allReduce#1:enter", this::enteredByFirst);
                case 1 -> PausePoint.at("allReduce#1:enter", this::enteredBySecond);
                default -> PausePoint.NONE;
            };
        }

        private void enteredByFirst() {
            if (!isBeside() && pieces.incrementAndGet() == 2) {
                inNode.run();
            }
        }

        private void enteredBySecond() {
            if (isBeside()) {
                beside.run();
            }
        }

        private static boolean isBeside() {
            return Thread.currentThread().getName().endsWith(" column");
        }
    }

    @Test
    void aFailureOnTheNetworkIsReportedAtOnce() {
        Runnable untilTheOthersFail =
                () -> await("the other node fails", () -> failures.containsKey(2) && failures.containsKey(3));

        run(new Trouble(untilTheOthersFail, ColumnFailureTest::fail));
    }

    /** Until then, data on the network uses the call's buffer. */
    @Test
    void aFailedCallReturnsWhenNothingRunsBesideIt() {
        AtomicBoolean hasReturned = new AtomicBoolean(true);

        run(new Trouble(ColumnFailureTest::fail, () -> {
            await("rank 1 waits for what runs beside it", () -> isQuiescing() || failures.containsKey(1));
            hasReturned.set(failures.containsKey(1));
        }));

        assertThat(hasReturned).isFalse();
    }

    private static void fail() {
        throw new IllegalStateException("out of luck");
    }

    private static void await(String what, BooleanSupplier condition) {
        try {
            TestAgent.await(what, condition);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean isQuiescing() {
        return Thread.getAllStackTraces().entrySet().stream()
                .filter(each -> each.getKey().getName().equals("rank-1"))
                .anyMatch(each -> Arrays.stream(each.getValue())
                        .anyMatch(frame -> frame.getMethodName().equals("quiesce")));
    }

    private void run(Trouble trouble) {
        LocalWorld.run(TWO_BY_TWO, trouble, world -> {
            world.group().barrier();
            try {
                MemorySegment buffer = MemorySegment.ofArray(new float[COUNT]);
                world.group().allReduce(buffer, DataType.F32, COUNT, ReduceOp.SUM);
            } catch (CommException failure) {
                failures.put(world.rank(), failure);
            }
        });
        assertThat(failures.values()).hasSize(4).allSatisfy(failure -> {
            assertThat(failure.code()).isEqualTo(ErrorCode.SYSTEM);
            assertThat(failure)
                    .hasMessageContaining("allReduce #1(f32, 40000, SUM) failed internally")
                    .hasMessageContaining("out of luck");
        });
        assertThat(failures.values().stream().map(Throwable::getMessage).distinct())
                .hasSize(1);
    }
}
