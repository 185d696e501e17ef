package io.jrun.bench.gpu;

import io.jrun.comm.Buffer;
import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.comm.cuda.DeviceFile;
import io.jrun.comm.cuda.DeviceMemory;
import io.jrun.comm.cuda.GpuDirectStorage;
import io.jrun.comm.file.DirectFile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/** Collectives and reads of files on memory of the host and of the GPU, compared with what the host computes. */
final class DeviceChecks {
    static final int CLOSES = 8;
    private static final int COUNT = 200_003;

    /** More than two reads of libcufile, and no multiple of a block. */
    private static final int FILE_BYTES = (40 << 20) + 123;

    /** A missing rank must be an error within this time. The timeout of the group is shorter. */
    private static final Duration ERROR_DEADLINE = Duration.ofSeconds(6);

    private DeviceChecks() {}

    static String registeredMemory(ProcessGroup group) {
        MemorySegment memory = group.allocate((long) COUNT * Float.BYTES);
        allReduce(group, memory);
        return COUNT + " floats of registered memory, " + group.size() + " ranks";
    }

    static String heapMemory(ProcessGroup group) {
        MemorySegment memory = MemorySegment.ofArray(new float[COUNT]);
        allReduce(group, memory);
        return COUNT + " floats of the Java heap, copied to the GPU and back";
    }

    private static void allReduce(ProcessGroup group, MemorySegment memory) {
        fill(memory, group.groupRank() + 1);
        group.allReduce(memory, DataType.F32, COUNT, ReduceOp.SUM);
        requireSum(memory, group);
    }

    /** Device memory stays on the device; the work is awaited on the host. */
    static String deviceMemory(ProcessGroup group) throws CheckSkippedException {
        Device device = Device.cuda(0);
        requireDevice(group, device);
        long bytes = (long) COUNT * Float.BYTES;
        try (Arena arena = Arena.ofConfined();
                DeviceMemory memory = new DeviceMemory(device, bytes)) {
            MemorySegment host = arena.allocate(bytes, Long.BYTES);
            fill(host, group.groupRank() + 1);
            memory.copyFrom(host);
            Buffer buffer = memory.buffer(DataType.F32);
            group.allReduceAsync(buffer, ReduceOp.SUM).await();
            memory.copyTo(host);
            requireSum(host, group);
            fill(host, group.groupRank() + 1);
            memory.copyFrom(host);
            group.coalesced().allReduceAsync(List.of(buffer), ReduceOp.SUM).await();
            memory.copyTo(host);
            requireSum(host, group);
            return COUNT + " floats of " + device + ", " + group.size() + " ranks";
        }
    }

    /** Skips the check if the group cannot use memory of the device. */
    static void requireDevice(ProcessGroup group, Device device) throws CheckSkippedException {
        Optional<String> why = group.unsupportedReason(device);
        if (why.isPresent()) {
            throw new CheckSkippedException(why.get());
        }
    }

    /** One sum. The caller closes the group at once. */
    static String reduceOnly(ProcessGroup group) {
        long bytes = (long) COUNT * Float.BYTES;
        try (Arena arena = Arena.ofConfined();
                DeviceMemory memory = new DeviceMemory(Device.cuda(0), bytes)) {
            MemorySegment host = arena.allocate(bytes, Long.BYTES);
            fill(host, group.groupRank() + 1);
            memory.copyFrom(host);
            group.allReduceAsync(memory.buffer(DataType.F32), ReduceOp.SUM).await();
            memory.copyTo(host);
            requireSum(host, group);
            return COUNT + " floats";
        }
    }

    /**
     * The last rank calls no second sum. The others must get an error in time, and the GPU must be usable afterwards, also
     * for a new group.
     */
    static String missingRank(World world, String backend, Duration timeout) {
        boolean isMissing = world.rank() == world.size() - 1;
        long millis = 0;
        boolean hasSucceeded = false;
        try (ProcessGroup group = world.group()
                        .split(
                                0,
                                world.rank(),
                                world.group()
                                        .options()
                                        .withBackend(backend)
                                        .withTimeout(timeout)
                                        .withCompared(false));
                DeviceMemory memory = new DeviceMemory(Device.cuda(0), 1 << 20)) {
            group.allReduceAsync(memory.buffer(DataType.F32), ReduceOp.SUM).await();
            if (!isMissing) {
                long begin = System.nanoTime();
                try {
                    group.allReduceAsync(memory.buffer(DataType.F32), ReduceOp.SUM)
                            .await();
                    hasSucceeded = true;
                } catch (CommException e) {
                    millis = (System.nanoTime() - begin) / 1_000_000;
                }
            }
            world.group().barrier();
        } catch (CommException e) {
            // The group of a failed operation may also fail to close.
        }
        try (ProcessGroup next =
                world.group().split(0, world.rank(), world.group().options().withBackend(backend))) {
            String _ = reduceOnly(next);
        }
        // After the calls of all ranks: a rank that leaves this method early would call the next check's collectives.
        GpuCheck.require(!hasSucceeded, "a sum without rank " + (world.size() - 1) + " succeeded");
        long limit = ERROR_DEADLINE.toMillis();
        GpuCheck.require(millis <= limit, "the error came after " + millis + " ms, not within " + limit + " ms");
        return isMissing ? "missing; a new group works" : "error after " + millis + " ms; a new group works";
    }

    private static void fill(MemorySegment memory, float value) {
        IntStream.range(0, COUNT).forEach(i -> memory.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, value));
    }

    /** Reads a file of odd size into device memory from odd positions on, and compares the bytes. */
    static String fileReads() throws CheckSkippedException, IOException {
        byte[] content = new byte[FILE_BYTES];
        new SplittableRandom(1).nextBytes(content);
        Path file = Files.createTempFile("gpu-check", ".bytes");
        GpuDirectStorage direct = GpuDirectStorage.ofProcess();
        try {
            Files.write(file, content);
            try (DeviceFile opened = direct.open(file, DirectFile.keyOf(file), Device.cuda(0))
                    .orElseThrow(() -> new CheckSkippedException(String.join(". ", direct.takeNotes())))) {
                for (int from : new int[] {0, 1, 4095, 4096, 1_000_003, content.length - 5}) {
                    compare(opened, from, content);
                }
            }
            return content.length + " bytes of " + file.getParent() + " by GPUDirect Storage, from six positions on";
        } finally {
            Files.delete(file);
        }
    }

    private static void compare(DeviceFile file, int from, byte[] content) throws IOException {
        int count = content.length - from;
        try (Arena arena = Arena.ofConfined();
                DeviceMemory memory = new DeviceMemory(Device.cuda(0), count)) {
            file.read(from, memory.buffer(DataType.U8).memory());
            MemorySegment host = arena.allocate(count);
            memory.copyTo(host);
            long wrong = host.mismatch(MemorySegment.ofArray(content).asSlice(from));
            GpuCheck.require(wrong < 0, "byte " + (from + wrong) + " of the file is another in the GPU's memory");
        }
    }

    private static void requireSum(MemorySegment memory, ProcessGroup group) {
        float expected = group.size() * (group.size() + 1) / 2f;
        for (int i = 0; i < COUNT; i++) {
            float found = memory.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
            GpuCheck.require(found == expected, "element " + i + " is " + found + ", not " + expected);
        }
    }
}
