package io.jrun.train.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Buffer;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.cuda.DeviceMemory;
import io.jrun.comm.local.LocalWorld;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Every collective on simulated device memory has the bits of the same collective on host memory. */
@Timeout(60)
class NcclCollectivesTest {
    private static final int RANKS = 3;
    private static final int COUNT = 1003;
    private static final long[] UNEVEN = {5, 0, 1003};
    private static final long UNEVEN_TOTAL = 1008;

    @TempDir
    private Path folder;

    @Test
    void collectivesHaveTheBitsOfHostMemory() throws Exception {
        String printed = SimulatedCuda.start(
                        folder, Compares.class, Map.of("SIMCUDA_DEVICES", "3", "SIMCUDA_COPY_MICROS", "1000"))
                .join();
        assertThat(printed).contains("rank 0 compared 73", "rank 1 compared 73", "rank 2 compared 73");
    }

    /** Runs each collective on both kinds of memory. */
    public static final class Compares {
        private final ProcessGroup onHost;
        private final ProcessGroup onDevice;
        private final Device device;
        private int compared;

        private Compares(ProcessGroup onHost, ProcessGroup onDevice, Device device) {
            this.onHost = onHost;
            this.onDevice = onDevice;
            this.device = device;
        }

        /** Entry point. */
        public static void main(String[] args) {
            LocalWorld.run(RANKS, world -> {
                ProcessGroup host = world.group();
                try (ProcessGroup nccl =
                        host.split(0, world.rank(), host.options().withBackend("nccl"))) {
                    Compares compares = new Compares(host, nccl, Device.cuda(world.localRank()));
                    compares.reductions();
                    for (DataType type : List.of(DataType.F32, DataType.I8, DataType.F16)) {
                        compares.moves(type);
                    }
                    System.out.println("rank " + world.rank() + " compared " + compares.compared);
                }
            });
        }

        private interface Collective {
            void run(ProcessGroup group, Buffer input, Buffer output);
        }

        private void reductions() {
            for (DataType type : DataType.values()) {
                for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.PROD, ReduceOp.MAX, ReduceOp.MIN)) {
                    compare(
                            "allReduce " + type + " " + op,
                            type,
                            COUNT,
                            COUNT,
                            (group, _, buffer) -> group.allReduce(buffer, op));
                }
            }
            compare("average", DataType.F32, COUNT, COUNT, (group, _, buffer) -> group.allReduce(buffer, ReduceOp.AVG));
        }

        private void moves(DataType type) {
            int rank = onHost.groupRank();
            long all = (long) RANKS * COUNT;
            compare("broadcast", type, COUNT, COUNT, (group, _, buffer) -> group.broadcast(buffer, 1));
            compare("allGather", type, COUNT, all, ProcessGroup::allGather);
            compare(
                    "allGatherV",
                    type,
                    UNEVEN[rank],
                    UNEVEN_TOTAL,
                    (group, in, out) -> group.allGatherV(in, out, UNEVEN));
            compare("reduceScatter", type, all, COUNT, (group, in, out) -> group.reduceScatter(in, out, ReduceOp.SUM));
            compare(
                    "reduceScatterV",
                    type,
                    UNEVEN_TOTAL,
                    UNEVEN[rank],
                    (group, in, out) -> group.reduceScatterV(in, out, ReduceOp.MAX, UNEVEN));
            int root = 1;
            long atRoot = rank == root ? all : 1;
            compare("gather", type, COUNT, atRoot, (group, in, out) -> group.gather(in, out, root));
            compare("scatter", type, atRoot, COUNT, (group, in, out) -> group.scatter(in, out, root));
            long unevenAtRoot = rank == root ? UNEVEN_TOTAL : 1;
            compare(
                    "gatherV",
                    type,
                    UNEVEN[rank],
                    unevenAtRoot,
                    (group, in, out) -> group.gatherV(in, out, root, UNEVEN));
            compare(
                    "scatterV",
                    type,
                    unevenAtRoot,
                    UNEVEN[rank],
                    (group, in, out) -> group.scatterV(in, out, root, UNEVEN));
            // The elements of the other ranks are undefined after a reduce: the root gives its own to all.
            compare("reduce", type, COUNT, COUNT, (group, _, buffer) -> {
                group.reduce(buffer, ReduceOp.SUM, root);
                group.broadcast(buffer, root);
            });
            compare("allToAll", type, all, all, ProcessGroup::allToAll);
            // Rank r sends UNEVEN[q] elements to rank q.
            compare(
                    "allToAllV",
                    type,
                    UNEVEN_TOTAL,
                    RANKS * UNEVEN[rank],
                    (group, in, out) ->
                            group.allToAllV(in, UNEVEN, out, new long[] {UNEVEN[rank], UNEVEN[rank], UNEVEN[rank]}));
        }

        /** Runs a collective on buffers of these lengths, and compares the whole output. */
        private void compare(String name, DataType type, long inputCount, long outputCount, Collective collective) {
            long inputBytes = Math.max(1, inputCount * type.sizeBytes());
            long outputBytes = Math.max(1, outputCount * type.sizeBytes());
            try (Arena arena = Arena.ofShared();
                    DeviceMemory input = new DeviceMemory(device, inputBytes);
                    DeviceMemory output = new DeviceMemory(device, outputBytes)) {
                MemorySegment hostInput = filled(arena, type, inputBytes, 1);
                MemorySegment hostOutput = filled(arena, type, outputBytes, 2);
                // The host does not wait for these copies. The collective must.
                DeviceStream stream = DeviceStream.defaultOf(device);
                SimulatedCuda.copy(input.buffer(DataType.U8).memory(), hostInput, stream);
                SimulatedCuda.copy(output.buffer(DataType.U8).memory(), hostOutput, stream);
                collective.run(onDevice, part(input.buffer(type), inputCount), part(output.buffer(type), outputCount));
                MemorySegment found = arena.allocate(outputBytes);
                output.copyTo(found);
                collective.run(
                        onHost,
                        Buffer.ofHost(hostInput, type, inputCount),
                        Buffer.ofHost(hostOutput, type, outputCount));
                long different = found.mismatch(hostOutput);
                if (different >= 0) {
                    throw new AssertionError("rank " + onHost.groupRank() + " " + name + ": byte " + different + " is "
                            + found.get(ValueLayout.JAVA_BYTE, different) + ", on host memory "
                            + hostOutput.get(ValueLayout.JAVA_BYTE, different));
                }
                compared++;
            }
        }

        private static Buffer part(Buffer whole, long count) {
            return new Buffer(whole.memory(), whole.type(), count, whole.device());
        }

        /** Small whole numbers, whose sums and products are exact in every type and in every order. */
        private MemorySegment filled(Arena arena, DataType type, long bytes, int salt) {
            MemorySegment memory = arena.allocate(bytes, Long.BYTES);
            for (long i = 0; i < bytes / type.sizeBytes(); i++) {
                int value = (int) ((i * 7 + onHost.groupRank() * 3L + salt) % 5);
                put(memory, type, i, type == DataType.BOOL ? value % 2 : value);
            }
            return memory;
        }

        private static void put(MemorySegment memory, DataType type, long i, int value) {
            switch (type) {
                case F32 -> memory.setAtIndex(ValueLayout.JAVA_FLOAT, i, value);
                case F64 -> memory.setAtIndex(ValueLayout.JAVA_DOUBLE, i, value);
                case I32 -> memory.setAtIndex(ValueLayout.JAVA_INT, i, value);
                case I64 -> memory.setAtIndex(ValueLayout.JAVA_LONG, i, value);
                case I8, U8, BOOL -> memory.set(ValueLayout.JAVA_BYTE, i, (byte) value);
                case F16 -> memory.setAtIndex(ValueLayout.JAVA_SHORT, i, Float.floatToFloat16(value));
                case BF16 ->
                    memory.setAtIndex(
                            ValueLayout.JAVA_SHORT, i, (short) (Float.floatToRawIntBits((float) value) >>> 16));
            }
        }
    }
}
