package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.local.LocalWorld;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class GroupOrderTest {
    private static final Duration SOON = Duration.ofSeconds(30);

    private static MemorySegment longs(long... values) {
        return MemorySegment.ofArray(values);
    }

    @Test
    void synchronousAndAsynchronousOperationsKeepCallOrder() {
        LocalWorld.run(3, world -> {
            MemorySegment value = longs(1);
            List<Work> works = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                works.add(world.group().allReduceAsync(value, DataType.I64, 1, ReduceOp.SUM));
                world.group().allReduce(value, DataType.I64, 1, ReduceOp.SUM);
            }
            works.forEach(work -> work.await(SOON));
            assertThat(value.get(ValueLayout.JAVA_LONG, 0)).isEqualTo((long) Math.pow(3, 12));
        });
    }

    @Test
    void manySmallOperationsInFlightAllArrive() {
        int inFlight = 200;
        LocalWorld.run(4, world -> {
            List<MemorySegment> values = IntStream.range(0, inFlight)
                    .mapToObj(i -> longs(i, world.rank()))
                    .toList();
            List<Work> works = values.stream()
                    .map(value -> world.group().allReduceAsync(value, DataType.I64, 2, ReduceOp.SUM))
                    .toList();
            works.forEach(work -> work.await(SOON));
            for (int i = 0; i < inFlight; i++) {
                assertThat(values.get(i).toArray(ValueLayout.JAVA_LONG)).containsExactly(4L * i, 6);
            }
        });
    }

    @Test
    void messagesInBothDirectionsCross() {
        int count = 300_000;
        LocalWorld.run(2, world -> {
            int other = 1 - world.rank();
            MemorySegment mine = MemorySegment.ofArray(
                    IntStream.range(0, count).map(i -> i * 2 + world.rank()).toArray());
            MemorySegment theirs = MemorySegment.ofArray(new int[count]);
            Work sent = world.group().sendAsync(mine, DataType.I32, count, other);
            Work received = world.group().recvAsync(theirs, DataType.I32, count, other);
            sent.await(SOON);
            received.await(SOON);
            assertThat(theirs.getAtIndex(ValueLayout.JAVA_INT, count - 1)).isEqualTo((count - 1) * 2 + other);
        });
    }

    @Test
    void messagesFlowWhileTheRestOfTheGroupDoesNothing() {
        LocalWorld.run(3, world -> {
            MemorySegment value = longs(world.rank());
            if (world.rank() == 1) {
                world.group().send(value, DataType.I64, 1, 2);
            } else if (world.rank() == 2) {
                world.group().recv(value, DataType.I64, 1, 1);
                assertThat(value.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(1);
            }
        });
    }

    @Test
    void stagedDataOfOneSizeNeverLeaksIntoTheNext() {
        LocalWorld.run(3, world -> {
            for (int round = 0; round < 30; round++) {
                int count = 70_000 + round * 4_099;
                float[] data = new float[count];
                java.util.Arrays.fill(data, world.rank() + round);
                MemorySegment buffer = MemorySegment.ofArray(data);
                world.group().allReduce(buffer, DataType.F32, count, ReduceOp.SUM);
                float expected = 3 * round + 3;
                for (float actual : data) {
                    if (actual != expected) {
                        assertThat(actual).as("round " + round).isEqualTo(expected);
                    }
                }
            }
        });
    }

    @Test
    void aSplitGroupWorksByItselfAndBesideItsParent() {
        LocalWorld.run(5, world -> {
            int color = world.rank() % 2;
            try (ProcessGroup half = world.group().split(color, -world.rank())) {
                assertThat(half.size()).isEqualTo(color == 0 ? 3 : 2);
                assertThat(half.worldRank(0)).as("ordered by key").isEqualTo(color == 0 ? 4 : 3);
                CollectiveMatrix.run(
                        half, CollectiveMatrix.Buffers.HEAP, List.of(1L, 3000L), List.of(DataType.values()));
                MemorySegment sum = longs(world.rank());
                half.allReduce(sum, DataType.I64, 1, ReduceOp.SUM);
                assertThat(sum.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(color == 0 ? 6 : 4);
                world.group().barrier();
            }
        });
    }

    @Test
    void resultsDoNotDependOnHowDataIsSplitOrWhereItLies() {
        int count = 20_000;
        LocalWorld.run(3, world -> {
            float[] whole = new java.util.Random(world.rank())
                    .doubles(count)
                    .collect(() -> new FloatList(count), FloatList::add, (a, b) -> {})
                    .values;
            float[] split = whole.clone();
            MemorySegment registered = world.group().allocate(count * 4L);
            MemorySegment.copy(whole, 0, registered, ValueLayout.JAVA_FLOAT, 0, count);
            world.group().allReduce(MemorySegment.ofArray(whole), DataType.F32, count, ReduceOp.AVG);
            world.group().allReduce(registered, DataType.F32, count, ReduceOp.AVG);
            for (int from = 0; from < count; from += 777) {
                int length = Math.min(777, count - from);
                MemorySegment part = MemorySegment.ofArray(split).asSlice(from * 4L, length * 4L);
                world.group().allReduce(part, DataType.F32, length, ReduceOp.AVG);
            }
            assertThat(split).containsExactly(whole);
            assertThat(registered.toArray(ValueLayout.JAVA_FLOAT)).containsExactly(whole);
        });
    }

    private static final class FloatList {
        private final float[] values;
        private int size;

        FloatList(int capacity) {
            values = new float[capacity];
        }

        void add(double value) {
            values[size++] = (float) value;
        }
    }

    @Test
    void theStoreAndCheckpointRequestsReachEveryRank() {
        LocalWorld.run(2, world -> {
            if (world.rank() == 0) {
                world.store().set("greeting", new byte[] {1, 2});
            }
            assertThat(world.store().get("greeting", SOON)).containsExactly(1, 2);
            long sum = world.store().add("counter", world.rank() + 1);
            assertThat(sum).isBetween(1L, 3L);
            world.group().barrier();
            assertThat(world.store().add("counter", 0)).isEqualTo(3);
            assertThat(world.checkpointRequested()).isFalse();
        });
    }
}
