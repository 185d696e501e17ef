package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The collectives on buffers have the results of the collectives on memory, and refuse invalid buffers. */
@Timeout(60)
class BufferTest {
    private static final int SIZE = 3;
    private static final long[] COUNTS = {1, 0, 4};

    /** Calls each collective in both forms, both blocking and asynchronous. */
    private record Twins(ProcessGroup group) {
        private static final DataType TYPE = DataType.I64;

        void all() {
            int rank = group.groupRank();
            compare(5, 5, (in, out) -> group.broadcast(out.memory(), TYPE, 5, 1), (in, out) -> group.broadcast(out, 1));
            compare(
                    5,
                    5,
                    (in, out) -> group.allReduce(out.memory(), TYPE, 5, ReduceOp.MAX),
                    (in, out) -> group.allReduceAsync(out, ReduceOp.MAX).await());
            compare(
                    5,
                    5,
                    (in, out) -> group.reduce(out.memory(), TYPE, 5, ReduceOp.SUM, 2),
                    (in, out) -> group.reduce(out, ReduceOp.SUM, 2));
            compare(5, 5 * SIZE, (in, out) -> group.allGather(in.memory(), out.memory(), TYPE, 5), group::allGather);
            compare(
                    5 * SIZE,
                    5,
                    (in, out) -> group.reduceScatter(in.memory(), out.memory(), TYPE, 5, ReduceOp.SUM),
                    (in, out) -> group.reduceScatterAsync(in, out, ReduceOp.SUM).await());
            compare(
                    5,
                    5 * SIZE,
                    (in, out) -> group.gather(in.memory(), out.memory(), TYPE, 5, 1),
                    (in, out) -> group.gather(in, out, 1));
            compare(
                    5 * SIZE,
                    5,
                    (in, out) -> group.scatter(in.memory(), out.memory(), TYPE, 5, 1),
                    (in, out) -> group.scatter(rank == 1 ? in : null, out, 1));
            compare(
                    5 * SIZE,
                    5 * SIZE,
                    (in, out) -> group.allToAll(in.memory(), out.memory(), TYPE, 5),
                    (in, out) -> group.allToAllAsync(in, out).await());
            long own = COUNTS[rank];
            long sum = LongStream.of(COUNTS).sum();
            compare(
                    own,
                    sum,
                    (in, out) -> group.allGatherV(in.memory(), out.memory(), TYPE, COUNTS),
                    (in, out) -> group.allGatherV(in, out, COUNTS));
            compare(
                    sum,
                    own,
                    (in, out) -> group.reduceScatterV(in.memory(), out.memory(), TYPE, ReduceOp.SUM, COUNTS),
                    (in, out) -> group.reduceScatterV(in, out, ReduceOp.SUM, COUNTS));
            compare(
                    own,
                    sum,
                    (in, out) -> group.gatherV(in.memory(), out.memory(), TYPE, 2, COUNTS),
                    (in, out) -> group.gatherV(in, out, 2, COUNTS));
            compare(
                    sum,
                    own,
                    (in, out) -> group.scatterV(in.memory(), out.memory(), TYPE, 2, COUNTS),
                    (in, out) -> group.scatterV(in, out, 2, COUNTS));
            long[] ofEach = {own, own, own};
            compare(
                    3 * own,
                    sum,
                    (in, out) -> group.allToAllV(in.memory(), ofEach, out.memory(), COUNTS, TYPE),
                    (in, out) -> group.allToAllV(in, ofEach, out, COUNTS));
            int next = (rank + 1) % SIZE;
            int previous = (rank + SIZE - 1) % SIZE;
            compare(
                    5,
                    5,
                    (in, out) -> exchange(group.sendAsync(in, next), () -> group.recv(out, previous)),
                    (in, out) -> exchange(
                            group.sendAsync(in.memory(), TYPE, 5, next),
                            () -> group.recvAsync(out, previous).await()));
        }

        private static void exchange(Work sent, Runnable receive) {
            receive.run();
            sent.await();
        }

        private interface Operation {
            void run(Buffer input, Buffer output);
        }

        private void compare(long inputs, long outputs, Operation onMemory, Operation onBuffers) {
            assertThat(result(inputs, outputs, onBuffers)).containsExactly(result(inputs, outputs, onMemory));
        }

        private long[] result(long inputs, long outputs, Operation operation) {
            long[] output = elements(outputs);
            operation.run(buffer(elements(inputs)), buffer(output));
            return output;
        }

        private long[] elements(long count) {
            return LongStream.range(0, count)
                    .map(i -> 100 * i + group.groupRank())
                    .toArray();
        }

        private static Buffer buffer(long... elements) {
            return Buffer.ofHost(MemorySegment.ofArray(elements), TYPE, elements.length);
        }
    }

    @Test
    void bothFormsOfACollectiveGiveTheSame() {
        LocalWorld.run(SIZE, world -> new Twins(world.group()).all());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void memoryOfADeviceThatTheBackendCannotUseIsRefused(int size) {
        MemorySegment onDevice = MemorySegment.ofAddress(0x10000).reinterpret(64);
        Buffer buffer = new Buffer(onDevice, DataType.F32, 8, new Device("xpu", 1));
        LocalWorld.run(size, world -> {
            ProcessGroup group = world.group();
            String why = ": the buffer is on the device xpu:1, but jrun moves memory of the host and of CUDA devices."
                    + " Copy the elements to host memory.";
            refused(group, () -> group.allReduce(buffer, ReduceOp.SUM)).hasMessage("allReduce" + why);
            refused(group, () -> group.broadcastAsync(buffer, 0)).hasMessage("broadcast" + why);
            refused(group, () -> group.coalesced().allReduce(List.of(buffer), ReduceOp.SUM))
                    .hasMessage("allReduce" + why);
            refused(group, () -> group.coalesced().allGatherAsync(List.of(buffer), List.of(ofAllRanks(buffer, size))))
                    .hasMessage("allGather" + why);
            refused(group, () -> group.send(buffer, 0)).hasMessage("send" + why);
            refused(group, () -> group.messages().send(buffer, 0, 1)).hasMessage("send" + why);
            refused(group, () -> group.messages().recvAsync(buffer, 0, 1)).hasMessage("recv" + why);
            refused(group, () -> group.messages().exchange(List.of(new Transfer.Recv(buffer, 0, 1))))
                    .hasMessage("exchange" + why);
            refused(group, () -> group.scaled(2).allReduce(buffer, ReduceOp.SUM))
                    .hasMessage("allReduce" + why);
        });
    }

    @Test
    void lengthsAndTypesMustFit() {
        LocalWorld.run(2, world -> {
            ProcessGroup group = world.group();
            Buffer five = ints(5);
            refused(group, () -> group.allGather(five, ints(9)))
                    .hasMessage("allGather: the buffer for all ranks has 9 elements (expected 2 blocks of 5)");
            refused(group, () -> group.reduceScatter(ints(11), five, ReduceOp.SUM))
                    .hasMessageContaining("has 11 elements (expected 2 blocks of 5)");
            refused(group, () -> group.allToAll(five, five))
                    .hasMessage("allToAll: the input has 5 elements and the output 5"
                            + " (expected equal numbers, a multiple of 2)");
            refused(
                            group,
                            () -> group.allGatherV(
                                    five, Buffer.ofHost(MemorySegment.ofArray(new long[10]), DataType.I64, 10), 5, 5))
                    .hasMessage("allGatherV: input and output have different types, i32 and i64");
            refused(group, () -> Buffer.ofHost(MemorySegment.ofArray(new int[5]), DataType.I32, 6))
                    .hasMessage("a buffer of 6 elements of i32 in 20 bytes of memory (expected 0 to 5 elements)");
            group.gather(five, group.groupRank() == 0 ? ints(10) : ints(1), 0);
        });
    }

    @Test
    void coalescedBuffersGiveTheSameAsSeparateCalls() {
        LocalWorld.run(SIZE, world -> {
            ProcessGroup group = world.group();
            Buffer whole = Buffer.ofHost(MemorySegment.ofArray(new int[] {1, 2, 3, 99}), DataType.I32, 3);
            Buffer one = filled(1, group.groupRank());
            group.coalesced().allReduce(List.of(whole, one), ReduceOp.SUM);
            assertThat(values(whole)).containsExactly(SIZE, 2 * SIZE, 3 * SIZE, 99);
            assertThat(values(one)).containsExactly(3);
            List<Buffer> gathered = List.of(ints(2 * SIZE), ints(SIZE));
            group.coalesced()
                    .allGatherAsync(List.of(filled(2, group.groupRank()), filled(1, 7)), gathered)
                    .await();
            assertThat(values(gathered.getFirst())).containsExactly(0, 0, 1, 1, 2, 2);
            assertThat(values(gathered.getLast())).containsExactly(7, 7, 7);
            List<Buffer> scattered = List.of(ints(1), ints(2));
            group.coalesced()
                    .reduceScatterAsync(List.of(filled(SIZE, 2), filled(2 * SIZE, 5)), scattered, ReduceOp.SUM)
                    .await();
            assertThat(values(scattered.getFirst())).containsExactly(2 * SIZE);
            assertThat(values(scattered.getLast())).containsExactly(5 * SIZE, 5 * SIZE);
            refused(group, () -> group.coalesced().allReduce(List.of(), ReduceOp.SUM))
                    .hasMessage("allReduce: there are no buffers (expected at least one)");
            Buffer longs = Buffer.ofHost(MemorySegment.ofArray(new long[1]), DataType.I64, 1);
            refused(group, () -> group.coalesced().allReduce(List.of(one, longs), ReduceOp.SUM))
                    .hasMessage("allReduce: the buffers have different types or devices: i32 on cpu and i64 on cpu");
            refused(group, () -> group.coalesced().allGather(List.of(one, one), List.of(ints(SIZE), ints(1))))
                    .hasMessage("allGather: inputs and outputs do not match: blocks of [1, 1] elements for 3 ranks,"
                            + " and [3, 1] elements for all ranks");
        });
    }

    private static Buffer ofAllRanks(Buffer block, int size) {
        MemorySegment memory = MemorySegment.ofAddress(0x20000)
                .reinterpret(size * block.memory().byteSize());
        return new Buffer(memory, block.type(), size * block.count(), block.device());
    }

    private static Buffer filled(int count, int value) {
        int[] elements = new int[count];
        Arrays.fill(elements, value);
        return Buffer.ofHost(MemorySegment.ofArray(elements), DataType.I32, count);
    }

    private static int[] values(Buffer buffer) {
        return buffer.memory().toArray(ValueLayout.JAVA_INT);
    }

    private static Buffer ints(int count) {
        return Buffer.ofHost(MemorySegment.ofArray(new int[count]), DataType.I32, count);
    }

    private static org.assertj.core.api.AbstractThrowableAssert<?, ?> refused(ProcessGroup group, Runnable call) {
        Consumer<CommException> isUsage = e -> assertThat(e.code()).isEqualTo(ErrorCode.USAGE);
        var refusal = assertThatThrownBy(call::run).isInstanceOfSatisfying(CommException.class, isUsage);
        group.barrier(); // the group is as before
        return refusal;
    }
}
