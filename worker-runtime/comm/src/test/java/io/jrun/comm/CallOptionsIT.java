package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Views of a group: factor, compression, timeout, urgent; and coalescing, alone and under them. */
@ExtendWith(StopAfterFailure.class)
class CallOptionsIT {
    private static final int COUNT = 70_001;

    /** A rank's random numbers of very different sizes. */
    private static MemorySegment numbers(DataType type, int rank, int count) {
        Elements elements = new Elements(type);
        MemorySegment memory = elements.heap(count);
        Random random = new Random(70 + rank);
        for (int at = 0; at < count; at++) {
            elements.setReal(memory, at, Math.scalb(random.nextGaussian(), random.nextInt(12) - 8));
        }
        return memory;
    }

    /** The same multiplied in the arithmetic of the type. */
    private static MemorySegment multiplied(DataType type, MemorySegment memory, int count, double factor) {
        Elements elements = new Elements(type);
        MemorySegment result = elements.heap(count);
        for (int at = 0; at < count; at++) {
            Number value = elements.get(memory, at);
            if (type == DataType.F64) {
                result.setAtIndex(java.lang.foreign.ValueLayout.JAVA_DOUBLE, at, value.doubleValue() * factor);
            } else {
                elements.setFloat(result, at, value.floatValue() * (float) factor);
            }
        }
        return result;
    }

    private static MemorySegment copy(MemorySegment memory) {
        return MemorySegment.ofArray(new long[(int) (memory.byteSize() + 7) / 8])
                .asSlice(0, memory.byteSize())
                .copyFrom(memory);
    }

    private static void assertSame(MemorySegment actual, MemorySegment expected, String what) {
        assertThat(actual.mismatch(expected))
                .as("first byte that differs in " + what)
                .isEqualTo(-1);
    }

    @ParameterizedTest
    @SampledCases(
            count = 5,
            value = {
                "F32, SHM 1",
                "F32, SHM 3",
                "F64, SHM 2",
                "BF16, SHM 3",
                "F32, TCP 3",
                "F64, TCP 3",
                "F16, TCP 2",
                "F32, 2+1",
                "F64, 2+1",
                "BF16, 1+1+2"
            })
    void aFactorGivesWhatMultiplyingFirstGives(DataType type, Plane plane) {
        int size = plane.size();
        LocalWorld.run(plane.world(), world -> {
            int rank = world.rank();
            double factor = 1.0 / 3 + rank;
            ProcessGroup group = world.group();
            ProcessGroup scaled = group.scaled(factor);
            MemorySegment mine = numbers(type, rank, size * COUNT);
            MemorySegment first = multiplied(type, mine, size * COUNT, factor);

            MemorySegment expected = copy(first);
            group.allReduce(expected, type, (long) size * COUNT, ReduceOp.SUM);
            MemorySegment actual = copy(mine);
            scaled.allReduce(actual, type, (long) size * COUNT, ReduceOp.SUM);
            assertSame(actual, expected, "allReduce");

            expected = copy(first);
            group.reduce(expected, type, COUNT, ReduceOp.SUM, size - 1);
            actual = copy(mine);
            scaled.reduce(actual, type, COUNT, ReduceOp.SUM, size - 1);
            long bytes = (long) COUNT * type.sizeBytes();
            assertSame(actual.asSlice(0, bytes), (rank == size - 1 ? expected : mine).asSlice(0, bytes), "reduce");

            MemorySegment part = new Elements(type).heap(COUNT);
            group.reduceScatter(first, part, type, COUNT, ReduceOp.SUM);
            MemorySegment input = copy(mine);
            MemorySegment output = new Elements(type).heap(COUNT);
            scaled.reduceScatter(input, output, type, COUNT, ReduceOp.SUM);
            assertSame(output, part, "reduceScatter");
            assertSame(input, mine, "reduceScatter's input");

            long[] counts = IntStream.range(0, size).mapToLong(r -> r * 100L).toArray();
            group.reduceScatterV(first, part, type, ReduceOp.SUM, counts);
            scaled.reduceScatterV(input, output, type, ReduceOp.SUM, counts);
            assertSame(output, part, "reduceScatterV");
        });
    }

    /** 1000 elements take recursive doubling, 100 000 halving and doubling, 700 000 the ring. */
    @ParameterizedTest(name = "{0}, {1}, {2} elements, {3}")
    @CsvSource({
        "BF16, SHM 1, 1000, SUM",
        "BF16, SHM 3, 100000, AVG",
        "F16, SHM 2, 1000, SUM",
        "BF16, TCP 5, 1000, SUM",
        "BF16, TCP 3, 100000, AVG",
        "F16, TCP 3, 700000, SUM",
        "BF16, TCP 3, 700000, AVG",
        "F16, 2+1, 1000, SUM",
        "BF16, 2+1, 100000, AVG",
        "BF16, 2+2, 100000, SUM"
    })
    void compressionKeepsItsErrorBound(DataType wire, Plane plane, int count, ReduceOp op) {
        int size = plane.size();
        double[] sums = new double[count];
        double[] magnitudes = new double[count];
        Elements floats = new Elements(DataType.F32);
        for (int rank = 0; rank < size; rank++) {
            MemorySegment numbers = numbers(DataType.F32, rank, count);
            for (int at = 0; at < count; at++) {
                double value = floats.get(numbers, at).doubleValue();
                sums[at] += value;
                magnitudes[at] += Math.abs(value);
            }
        }
        double unit = wire == DataType.BF16 ? 0x1p-8 : 0x1p-11;
        int roundings = size + (op == ReduceOp.AVG ? 1 : 0);
        double bound = Math.pow(1 + unit, roundings) * Math.pow(1 + 0x1p-24, size) - 1;
        double floor = wire == DataType.F16 ? roundings * size * 0x1p-25 : 0;
        int divisor = op == ReduceOp.AVG ? size : 1;
        LocalWorld.run(plane.world(), world -> {
            MemorySegment reduced = numbers(DataType.F32, world.rank(), count);
            world.group().compressed(wire).allReduce(reduced, DataType.F32, count, op);
            MemorySegment scattered = floats.heap(count);
            long[] counts = new long[size];
            counts[size - 1] = count;
            MemorySegment input = numbers(DataType.F32, world.rank(), count);
            world.group().compressed(wire).reduceScatterV(input, scattered, DataType.F32, op, counts);
            for (int at = 0; at < count; at++) {
                double allowed = (bound * magnitudes[at] + floor) / divisor;
                checkError(floats.get(reduced, at).doubleValue(), sums[at] / divisor, allowed, at);
                if (world.rank() == size - 1) {
                    checkError(floats.get(scattered, at).doubleValue(), sums[at] / divisor, allowed, at);
                }
            }
            assertSame(input, numbers(DataType.F32, world.rank(), count), "reduceScatter's input");
        });
    }

    private static void checkError(double actual, double expected, double allowed, int at) {
        if (Math.abs(actual - expected) > allowed) {
            assertThat(Math.abs(actual - expected))
                    .as("error of element %d", at)
                    .isLessThanOrEqualTo(allowed);
        }
    }

    @Test
    void compressionReallyRounds() {
        LocalWorld.run(2, world -> {
            MemorySegment one = MemorySegment.ofArray(new float[] {1 + 0x1p-12f});
            world.group().compressed(DataType.BF16).allReduce(one, DataType.F32, 1, ReduceOp.SUM);
            assertThat(one.get(java.lang.foreign.ValueLayout.JAVA_FLOAT, 0)).isEqualTo(2);
        });
    }

    @Test
    void optionsThatMeanNothingForACallAreRefusedAndTheGroupStaysUsable() {
        LocalWorld.run(2, world -> {
            ProcessGroup group = world.group();
            MemorySegment memory = MemorySegment.ofArray(new int[4]);
            assertThatThrownBy(() -> group.scaled(2).allReduce(memory, DataType.I32, 4, ReduceOp.SUM))
                    .hasMessageContaining("allReduce of i32 cannot be scaled");
            assertThatThrownBy(() -> group.scaled(2).allReduce(memory, DataType.F32, 4, ReduceOp.MAX))
                    .hasMessageContaining("cannot be scaled");
            assertThatThrownBy(() -> group.scaled(2).broadcast(memory, DataType.F32, 4, 0))
                    .hasMessageContaining("broadcast of f32 cannot be scaled");
            assertThatThrownBy(() -> group.compressed(DataType.BF16).allReduce(memory, DataType.F16, 4, ReduceOp.SUM))
                    .hasMessageContaining("cannot be compressed");
            assertThatThrownBy(() -> group.compressed(DataType.I8)).hasMessageContaining("expected bf16 or f16");
            assertThatThrownBy(() -> group.withTimeout(Duration.ZERO)).hasMessageContaining("expected a positive");
            group.barrier();
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 1", "SHM 3", "TCP 2", "TCP 4", "2+1", "2+2"})
    void coalescedOperationsGiveWhatSeparateOnesGive(Plane plane) {
        int size = plane.size();
        int[] sizes = {1, 0, 17, 5000, 3};
        LocalWorld.run(plane.world().withDeterministic(true), world -> {
            ProcessGroup group = world.group();
            List<MemorySegment> separate = random(world.rank(), sizes, 1);
            List<MemorySegment> together = random(world.rank(), sizes, 1);
            for (int i = 0; i < sizes.length; i++) {
                group.allReduce(separate.get(i), DataType.F32, sizes[i], ReduceOp.AVG);
            }
            group.coalesced().allReduce(together, DataType.F32, ReduceOp.AVG);
            assertEqual(together, separate);

            List<MemorySegment> inputs = random(world.rank(), sizes, size);
            separate = random(99, sizes, 1);
            together = random(99, sizes, 1);
            for (int i = 0; i < sizes.length; i++) {
                group.reduceScatter(inputs.get(i), separate.get(i), DataType.F32, sizes[i], ReduceOp.SUM);
            }
            group.coalesced()
                    .reduceScatterAsync(inputs, together, DataType.F32, ReduceOp.SUM)
                    .await();
            assertEqual(together, separate);

            separate = random(99, sizes, size);
            together = random(99, sizes, size);
            List<MemorySegment> blocks = random(world.rank(), sizes, 1);
            for (int i = 0; i < sizes.length; i++) {
                group.allGather(blocks.get(i), separate.get(i), DataType.F32, sizes[i]);
            }
            group.coalesced().allGather(blocks, together, DataType.F32);
            assertEqual(together, separate);

            separate = random(world.rank(), sizes, 1);
            together = random(world.rank(), sizes, 1);
            for (int i = 0; i < sizes.length; i++) {
                group.scaled(0.3).allReduce(separate.get(i), DataType.F32, sizes[i], ReduceOp.SUM);
            }
            group.scaled(0.3).coalesced().allReduce(together, DataType.F32, ReduceOp.SUM);
            assertEqual(together, separate);
            group.coalesced().allReduce(List.of(), DataType.F32, ReduceOp.SUM);
        });
    }

    private static List<MemorySegment> random(int seed, int[] sizes, int blocks) {
        return IntStream.of(sizes)
                .mapToObj(count -> numbers(DataType.F32, seed, count * blocks))
                .toList();
    }

    private static void assertEqual(List<MemorySegment> actual, List<MemorySegment> expected) {
        for (int i = 0; i < actual.size(); i++) {
            assertSame(actual.get(i), expected.get(i), "buffer " + i);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "TCP 2", "2+1"})
    void listsOfOtherSizesAreAMismatch(Plane plane) {
        LocalWorld.run(plane.world(), world -> {
            int[] sizes = world.rank() == 0 ? new int[] {1, 3} : new int[] {3, 1};
            assertThatThrownBy(() -> {
                        world.group().coalesced().allReduce(random(1, sizes, 1), DataType.F32, ReduceOp.SUM);
                        world.group().barrier();
                    })
                    .isInstanceOfSatisfying(
                            CommException.class,
                            comm -> assertThat(comm.code()).isEqualTo(ErrorCode.COLLECTIVE_MISMATCH))
                    .hasMessageContaining("coalesced");
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "TCP 2", "2+1"})
    void aCallsTimeoutIsItsOwn(Plane plane) {
        CountDownLatch informed = new CountDownLatch(1);
        LocalWorld.run(plane.world(), world -> {
            world.group().barrier();
            if (world.rank() == 0) {
                assertThatThrownBy(() -> world.group()
                                .withTimeout(Duration.ofMillis(1500))
                                .barrier())
                        .isInstanceOfSatisfying(
                                CommException.class,
                                comm -> assertThat(comm.code()).isEqualTo(ErrorCode.COLLECTIVE_TIMEOUT))
                        .hasMessageContaining(" 1 s");
                informed.countDown();
            } else {
                assertThat(informed.await(20, java.util.concurrent.TimeUnit.SECONDS))
                        .isTrue();
            }
        });
    }

    /** The urgent operation ends while one of the group cannot: only rank 0 takes part in that before. */
    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "TCP 2", "2+1"})
    void urgentOperationsDoNotQueueBehindOthers(Plane plane) {
        CountDownLatch looked = new CountDownLatch(1);
        LocalWorld.run(plane.world(), world -> {
            ProcessGroup group = world.group();
            MemorySegment bulk = MemorySegment.ofArray(new float[COUNT]);
            Work pending = world.rank() == 0 ? group.allReduceAsync(bulk, DataType.F32, COUNT, ReduceOp.SUM) : null;
            MemorySegment small = MemorySegment.ofArray(new long[] {world.rank() + 1});
            group.urgent().allReduce(small, DataType.I64, 1, ReduceOp.SUM);
            assertThat(small.get(java.lang.foreign.ValueLayout.JAVA_LONG, 0))
                    .isEqualTo(plane.size() * (plane.size() + 1) / 2);
            if (pending == null) {
                assertThat(looked.await(20, java.util.concurrent.TimeUnit.SECONDS))
                        .isTrue();
                group.allReduce(bulk, DataType.F32, COUNT, ReduceOp.SUM);
            } else {
                assertThat(pending.isDone()).isFalse();
                looked.countDown();
                pending.await(Duration.ofSeconds(30));
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"SHM 2", "TCP 2", "2+1"})
    void urgentOperationsFailAndCloseWithTheGroup(Plane plane) {
        LocalWorld.run(plane.world(), world -> {
            try (ProcessGroup group = world.group().split(0, world.rank())) {
                group.barrier();
                group.urgent().barrier();
                if (world.rank() == 0) {
                    group.urgent().abort("enough");
                }
                assertThatThrownBy(() -> group.urgent()
                                .recv(
                                        MemorySegment.ofArray(new int[1]),
                                        DataType.I32,
                                        1,
                                        (world.rank() + 1) % world.size()))
                        .hasMessageContaining("enough");
                assertThatThrownBy(group::barrier).hasMessageContaining("enough");
            }
            ProcessGroup closed = world.group().split(1, 0);
            ProcessGroup urgent = closed.urgent();
            urgent.barrier();
            urgent.close();
            assertThatThrownBy(closed::barrier).hasMessageContaining("is closed");
            assertThatThrownBy(urgent::barrier).hasMessageContaining("is closed");
            world.group().barrier();
        });
    }
}
