package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Disagreements of ranks about the sizes of blocks. The matrix test checks the data itself. */
class UnevenBlocksTest {
    /** Three ranks on one node, or on two. */
    enum Plane {
        SHM,
        TCP,
        NODES;

        private LocalWorldOptions options() {
            LocalWorldOptions plane = switch (this) {
                case SHM -> LocalWorldOptions.ofSize(3).withTransport(TransportKind.SHM);
                case TCP -> LocalWorldOptions.ofSize(3).withTransport(TransportKind.TCP);
                case NODES -> LocalWorldOptions.ofNodes(List.of(2, 1));
            };
            return plane.withTimeout(Duration.ofSeconds(20));
        }
    }

    private static MemorySegment ints(int count) {
        return MemorySegment.ofArray(new int[count]);
    }

    /** Runs a call that must fail on each rank, and returns the errors. */
    private static List<Throwable> failures(LocalWorldOptions options, ThrowingConsumer<World> call) {
        List<Throwable> failures = new CopyOnWriteArrayList<>();
        LocalWorld.run(options, world -> {
            failures.add(catchThrowable(() -> {
                world.group().barrier();
                call.accept(world);
                world.group().barrier(); // A rank without this difference gets the failure here, or a lost peer.
            }));
        });
        assertThat(failures)
                .hasSize(options.size())
                .allSatisfy(failure -> assertThat(failure)
                        .isInstanceOfSatisfying(
                                CommException.class,
                                comm -> assertThat(comm.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH)));
        return failures;
    }

    @ParameterizedTest
    @EnumSource
    void countsOfTheSameSumInAnotherOrderAreAMismatchThatNamesThem(Plane plane) {
        List<Throwable> failures = failures(plane.options(), world -> {
            long[] counts = world.rank() == 1 ? new long[] {2, 1, 3} : new long[] {1, 2, 3};
            world.group().allGatherV(ints(3), ints(6), DataType.I32, counts);
        });
        assertThat(failures)
                .allSatisfy(failure -> assertThat(failure)
                        .hasMessageMatching("(?s).*called allGather #1\\(i32, .*blocks (1 2 3|2 1 3).*"));
    }

    /**
     * A difference on an extra rank, which sends no data to other nodes, while all ranks of its node agree about their
     * own blocks.
     */
    @Test
    void countsOfAnotherNodeAreCompared() {
        LocalWorldOptions options = LocalWorldOptions.ofNodes(List.of(2, 1, 1)).withTimeout(Duration.ofSeconds(20));
        List<Throwable> failures = failures(options, world -> {
            long[] counts = world.rank() == 1 ? new long[] {1, 2, 4, 3} : new long[] {1, 2, 3, 4};
            world.group().allGatherV(ints(4), ints(10), DataType.I32, counts);
        });
        assertThat(failures)
                .allSatisfy(failure -> assertThat(failure)
                        .hasMessageMatching("(?s).*allGather #1\\(i32, blocks (1 2 4 3|1 2 3 4)\\).*"
                                + "|.*10 in uneven blocks of checksum.*"));
    }

    @ParameterizedTest
    @EnumSource
    void evenAndUnevenBlocksAreAMismatch(Plane plane) {
        List<Throwable> failures = failures(plane.options(), world -> {
            if (world.rank() == 2) {
                world.group().reduceScatter(ints(6), ints(2), DataType.I32, 2, ReduceOp.SUM);
            } else {
                world.group().reduceScatterV(ints(6), ints(2), DataType.I32, ReduceOp.SUM, 2, 2, 2);
            }
        });
        assertThat(failures)
                .anySatisfy(failure -> assertThat(failure)
                        .hasMessageContaining("reduceScatter #1(i32, 2, SUM)")
                        .hasMessageContaining("blocks"));
    }

    @ParameterizedTest
    @EnumSource
    void sentAndExpectedCountsMustAgree(Plane plane) {
        List<Throwable> failures = failures(plane.options(), world -> {
            long[] outgoing = {1, 1, 1};
            long[] incoming = {1, 1, 1};
            if (world.rank() == 0) {
                outgoing[2] = 4;
            }
            world.group().allToAllV(ints(6), outgoing, ints(6), incoming, DataType.I32);
        });
        assertThat(failures)
                .anySatisfy(failure -> assertThat(failure).hasMessageMatching("(?s).*(blocks out 1 1 4|sends 16).*"));
    }

    @Test
    void unusableCountsAreRefusedAndTheGroupStaysUsable() {
        LocalWorld.run(2, world -> {
            ProcessGroup group = world.group();
            assertThatThrownBy(() -> group.allGatherV(ints(1), ints(3), DataType.I32, 1, 1, 1))
                    .hasMessageContaining("3 counts for a group of 2");
            assertThatThrownBy(() -> group.allGatherV(ints(1), ints(3), DataType.I32, 1, -1))
                    .hasMessageContaining("the count of rank 1 is -1");
            assertThatThrownBy(() -> group.allGatherV(ints(1), ints(3), DataType.I32, Long.MAX_VALUE, 2))
                    .hasMessageContaining("exceed 64 bits");
            assertThatThrownBy(() -> group.scatterV(ints(1), ints(3), DataType.I32, world.rank(), 1, 1))
                    .hasMessageContaining("the input buffer has 4 bytes (expected at least 8)");
            assertThatThrownBy(
                            () -> group.allToAllV(ints(2), new long[] {1, 1}, ints(4), new long[] {2, 2}, DataType.I32))
                    .hasMessageContaining("sends 1 elements to itself but expects 2");
            group.barrier();
        });
    }

    /**
     * If a rank in shared memory has an empty block, the registered data of the other ranks is still read without a
     * copy.
     */
    @ParameterizedTest
    @EnumSource
    void ranksWithNothingToGiveTakePart(Plane plane) {
        int count = 50_000;
        LocalWorld.run(plane.options(), world -> {
            int rank = world.rank();
            MemorySegment input = world.group().allocate(count * 4L * 3);
            for (int i = 0; i < 3 * count; i++) {
                input.setAtIndex(java.lang.foreign.ValueLayout.JAVA_INT, i, rank * 10 + i % 7);
            }
            MemorySegment output = world.group().allocate(count * 4L);
            long[] nothing = {0, 0, 0};
            long[] outgoing = rank == 1 ? new long[] {count, count, count} : nothing;
            world.group()
                    .allToAllV(
                            rank == 1 ? input : MemorySegment.NULL,
                            outgoing,
                            output,
                            new long[] {0, count, 0},
                            DataType.I32);
            for (int i = 0; i < count; i++) {
                int expected = 10 + (rank * count + i) % 7;
                assertThat(output.getAtIndex(java.lang.foreign.ValueLayout.JAVA_INT, i))
                        .isEqualTo(expected);
            }
            world.group().allToAllV(MemorySegment.NULL, nothing, ints(1), nothing, DataType.I32);
        });
    }
}
