package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GroupFailureTest {
    private static final LocalWorldOptions TWO = LocalWorldOptions.ofSize(2).withTimeout(Duration.ofSeconds(20));
    private static final LocalWorldOptions THREE = LocalWorldOptions.ofSize(3).withTimeout(Duration.ofSeconds(20));

    private static MemorySegment floats(int count) {
        return MemorySegment.ofArray(new float[count]);
    }

    @Test
    void differentCallsFailOnEveryRankNamingBoth() {
        Map<Integer, CommException> failures = new ConcurrentHashMap<>();
        LocalWorld.run(THREE, world -> {
            world.group().barrier();
            failures.put(world.rank(), catchThrowableOfType(CommException.class, () -> {
                if (world.rank() == 1) {
                    world.group().barrier();
                } else {
                    world.group().allReduce(floats(100), DataType.F32, 100, ReduceOp.SUM);
                }
            }));
        });
        assertThat(failures).hasSize(3).allSatisfy((rank, failure) -> {
            assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH);
            assertThat(failure)
                    .hasMessageContaining("called allReduce #1(f32, 100, SUM)")
                    .hasMessageContaining("rank 1 called barrier #1");
        });
    }

    @Test
    void differentCallsFailEvenWhileAThirdRankIsElsewhere() {
        CountDownLatch bothFailed = new CountDownLatch(2);
        LocalWorld.run(THREE, world -> {
            if (world.rank() == 0) {
                bothFailed.await();
                return;
            }
            int count = world.rank() * 10;
            CommException failure = catchThrowableOfType(
                    CommException.class, () -> world.group().broadcast(floats(count), DataType.F32, count, 1));
            assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH);
            assertThat(failure)
                    .hasMessageContaining("rank 1 called broadcast #0(f32, 10, root 1)")
                    .hasMessageContaining("rank 2 called broadcast #0(f32, 20, root 1)");
            bothFailed.countDown();
        });
    }

    @Test
    void aMessageOfAnotherTypeOrLengthIsAMismatch() {
        LocalWorld.run(TWO, world -> {
            if (world.rank() == 0) {
                world.group().send(floats(3), DataType.F32, 3, 1);
            } else {
                CommException failure = catchThrowableOfType(
                        CommException.class, () -> world.group().recv(floats(4), DataType.F32, 4, 0));
                assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH);
                assertThat(failure)
                        .hasMessageContaining("rank 0 called send #0(f32, 3, to 1)")
                        .hasMessageContaining("rank 1 called recv #0(f32, 4, from 0)");
            }
        });
    }

    @Test
    void aRankThatLeavesWhileAnotherWaitsIsNamedAtOnce() {
        LocalWorld.run(TWO, world -> {
            world.group().barrier();
            if (world.rank() == 0) {
                CommException failure = catchThrowableOfType(
                        CommException.class, () -> world.group().allReduce(floats(9), DataType.F32, 9, ReduceOp.MAX));
                assertThat(failure.code()).isEqualTo(ErrorCode.PEER_LOST);
                assertThat(failure)
                        .hasMessageContaining("rank 1 (host localhost")
                        .hasMessageContaining("returned from main while rank 0")
                        .hasMessageContaining("allReduce #1(f32, 9, MAX)");
            }
        });
    }

    @Test
    void aRankThatNeverUsedTheGroupIsMissedToo() {
        LocalWorld.run(TWO, world -> {
            if (world.rank() == 0) {
                assertThatThrownBy(() -> world.group().barrier()).hasMessageContaining("returned from main while");
            }
        });
    }

    @Test
    void contributionsOfARankThatHasLeftStillCount() {
        for (int round = 0; round < 20; round++) {
            LocalWorld.run(TWO, world -> {
                MemorySegment value = MemorySegment.ofArray(new int[] {world.rank() + 1});
                world.group().allReduce(value, DataType.I32, 1, ReduceOp.SUM);
                assertThat(value.get(ValueLayout.JAVA_INT, 0)).isEqualTo(3);
                if (world.rank() == 1) {
                    world.group().send(value, DataType.I32, 1, 0);
                    return;
                }
                MemorySegment received = MemorySegment.ofArray(new int[1]);
                world.group().recv(received, DataType.I32, 1, 1);
                assertThat(received.get(ValueLayout.JAVA_INT, 0)).isEqualTo(3);
            });
        }
    }

    @Test
    void aPassedDeadlineFailsAllRanksAndNamesTheMissingOne() {
        CountDownLatch failed = new CountDownLatch(1);
        LocalWorld.run(TWO.withTimeout(Duration.ofSeconds(1)), world -> {
            world.group().barrier();
            if (world.rank() == 1) {
                failed.await();
                assertThatThrownBy(() -> world.group().barrier())
                        .isInstanceOfSatisfying(
                                CommException.class,
                                later -> assertThat(later.code()).isEqualTo(ErrorCode.COLLECTIVE_TIMEOUT));
                return;
            }
            CommException failure = catchThrowableOfType(
                    CommException.class, () -> world.group().barrier());
            failed.countDown();
            assertThat(failure.code()).isEqualTo(ErrorCode.COLLECTIVE_TIMEOUT);
            assertThat(failure)
                    .hasMessageContaining("barrier #1 on group world")
                    .hasMessageMatching(
                            "barrier #1 on group world timed out after 1 s: rank 1 \\(host localhost, pid \\d+\\) did not"
                                    + " come\\. (?s:.*)");
        });
    }

    @Test
    void abortFailsPendingAndLaterOperationsEverywhere() {
        LocalWorld.run(THREE, world -> {
            world.group().barrier();
            if (world.rank() == 2) {
                world.group().abort("loss is NaN");
            } else {
                Work pending = world.group().barrierAsync();
                assertThatThrownBy(pending::await).hasMessageContaining("loss is NaN");
            }
            assertThatThrownBy(() -> world.group().barrier())
                    .hasMessageContaining("was aborted by rank 2")
                    .hasMessageContaining("loss is NaN");
        });
    }

    @Test
    void theFirstFailureOfARankIsThrownAndEndsTheOthersWaits() {
        assertThatThrownBy(() -> LocalWorld.run(THREE, world -> {
                    if (world.rank() == 1) {
                        throw new IllegalStateException("out of luck");
                    }
                    world.group().barrier();
                }))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("out of luck")
                .satisfies(first -> assertThat(first.getSuppressed())
                        .isNotEmpty()
                        .allSatisfy(other -> assertThat(other).hasMessageContaining("out of luck")));
    }

    @Test
    void memoryThatDoesNotFitIsAnErrorWithSizesOnEveryRank() {
        long tooMuch = 1L << 43;
        LocalWorld.run(
                TWO,
                world -> assertThatThrownBy(() -> world.group().allocate(tooMuch))
                        .isInstanceOfSatisfying(
                                CommException.class,
                                failure -> assertThat(failure.code()).isEqualTo(ErrorCode.SYSTEM))
                        .hasMessageContaining("/dev/shm is full: " + tooMuch + " bytes of shared memory are needed"));
    }

    @Test
    void unusableArgumentsAreReportedBeforeAnythingIsSentAndDoNoHarm() {
        LocalWorld.run(TWO, world -> {
            ProcessGroup group = world.group();
            assertThatThrownBy(() -> group.allReduce(floats(3), DataType.F32, 4, ReduceOp.SUM))
                    .hasMessage("allReduce: the data buffer has 12 bytes (expected at least 16)");
            assertThatThrownBy(() -> group.broadcast(floats(3), DataType.F32, 3, 2))
                    .hasMessage("broadcast: root is 2 (expected 0..1, a rank of this group)");
            assertThatThrownBy(() -> group.recv(floats(1), DataType.F32, 1, world.rank()))
                    .hasMessageContaining("is the caller itself");
            MemorySegment both = floats(8);
            assertThatThrownBy(() -> group.allToAll(both, both, DataType.F32, 4))
                    .hasMessageContaining("input and output overlap");
            group.barrier();
        });
    }
}
