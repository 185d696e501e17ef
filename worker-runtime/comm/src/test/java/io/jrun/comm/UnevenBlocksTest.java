package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What happens where ranks do not agree about the sizes of blocks; that they move what they should, the matrix checks. */
class UnevenBlocksTest {
    private static LocalWorldOptions options(int size, TransportKind transport) {
        return LocalWorldOptions.ofSize(size).withTransport(transport).withTimeout(Duration.ofSeconds(20));
    }

    private static MemorySegment ints(int count) {
        return MemorySegment.ofArray(new int[count]);
    }

    /** Runs a call that must fail on each of three ranks, and returns the errors. */
    private static List<Throwable> failures(TransportKind transport, ThrowingConsumer<World> call) {
        List<Throwable> failures = new CopyOnWriteArrayList<>();
        LocalWorld.run(options(3, transport), world -> {
            failures.add(catchThrowable(() -> {
                world.group().barrier();
                call.accept(world);
                world.group().barrier(); // A rank that the difference does not concern hears of it here, or of a loss.
            }));
        });
        assertThat(failures)
                .hasSize(3)
                .allSatisfy(failure -> assertThat(failure)
                        .isInstanceOfSatisfying(
                                CommException.class,
                                comm -> assertThat(comm.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH)));
        return failures;
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void countsOfTheSameSumInAnotherOrderAreAMismatchThatNamesThem(TransportKind transport) {
        List<Throwable> failures = failures(transport, world -> {
            long[] counts = world.rank() == 1 ? new long[] {2, 1, 3} : new long[] {1, 2, 3};
            world.group().allGatherV(ints(3), ints(6), DataType.I32, counts);
        });
        assertThat(failures)
                .allSatisfy(failure -> assertThat(failure)
                        .hasMessageMatching("(?s).*called allGather #1\\(i32, .*blocks (1 2 3|2 1 3).*"));
    }

    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void evenAndUnevenBlocksAreAMismatch(TransportKind transport) {
        List<Throwable> failures = failures(transport, world -> {
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
    @EnumSource(names = {"SHM", "TCP"})
    void whatOneRankSendsAndAnotherExpectsMustAgree(TransportKind transport) {
        List<Throwable> failures = failures(transport, world -> {
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

    /** Where a rank of shared memory has nothing to give, the others' registered data is still taken without a copy. */
    @ParameterizedTest
    @EnumSource(names = {"SHM", "TCP"})
    void ranksWithNothingToGiveTakePart(TransportKind transport) {
        int count = 50_000;
        LocalWorld.run(options(3, transport), world -> {
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
