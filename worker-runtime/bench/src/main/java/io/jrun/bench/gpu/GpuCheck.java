package io.jrun.bench.gpu;

import io.jrun.comm.Buffer;
import io.jrun.comm.Codec;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.Distributed;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.comm.cuda.DeviceMemory;
import io.jrun.train.Libtorch;
import io.jrun.train.nccl.NcclProvider;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.global.torch;

/**
 * Checks the parts of jrun that need a GPU. jrun starts one rank for each GPU of the machine. Rank 0 prints one line
 * for each check. The exit code is 1 if a check failed.
 */
public final class GpuCheck {
    private static final int COUNT = 1_000_003;
    private static final String NCCL = "nccl";

    private final World world;

    private GpuCheck(World world) {
        this.world = world;
    }

    /** Runs all checks; the only argument is {@code --json}. */
    public static void main(String[] args) {
        boolean hasFailed;
        try (World world = Distributed.init()) {
            CheckReport report = new CheckReport(world, Arrays.asList(args).contains("--json"));
            new GpuCheck(world).runAll(report);
            hasFailed = report.hasFailed();
        }
        if (hasFailed) {
            System.exit(1);
        }
    }

    private void runAll(CheckReport report) {
        report.check("device-binding", this::deviceBinding);
        report.check("nccl-one-rank", () -> onGroup(true, this::registeredMemory));
        report.check("nccl-all-ranks", () -> onGroup(false, this::registeredMemory));
        report.check("pinned-copies", () -> onGroup(true, this::heapMemory));
        report.check("device-buffers", () -> onGroup(true, this::deviceMemory));
        report.check("device-buffers-all", () -> onGroup(false, this::deviceMemory));
        report.check("ddp-cuda", () -> onGroup(false, this::ddp));
    }

    /** Each rank must see exactly one GPU, and each rank a different GPU. */
    private String deviceBinding() {
        String visible =
                Optional.ofNullable(System.getenv("CUDA_VISIBLE_DEVICES")).orElse("");
        List<String> all = world.group().objects().allGather(visible, Codec.STRING);
        require(!visible.isEmpty() && !visible.contains(","), "CUDA_VISIBLE_DEVICES is '" + visible + "', not one GPU");
        require(new HashSet<>(all).size() == all.size(), "ranks share a GPU: " + all);
        return "GPU " + visible;
    }

    private interface GroupCheck {
        String run(ProcessGroup group) throws Exception;
    }

    /** Runs a check on a new group of nccl: of each rank alone, or of all. */
    private String onGroup(boolean isAlone, GroupCheck check) throws Exception {
        Optional<String> reason = new NcclProvider().unavailableReason();
        if (reason.isPresent()) {
            throw new CheckSkippedException(reason.get());
        }
        if (!isAlone && world.size() == 1) {
            throw new CheckSkippedException("jrun sees one GPU on this machine; the check needs two or more");
        }
        try (ProcessGroup group = world.group()
                .split(isAlone ? world.rank() : 0, 0, world.group().options().withBackend(NCCL))) {
            return check.run(group);
        }
    }

    private String registeredMemory(ProcessGroup group) {
        MemorySegment memory = group.allocate((long) COUNT * Float.BYTES);
        allReduce(group, memory);
        return COUNT + " floats of registered memory, " + group.size() + " ranks";
    }

    private String heapMemory(ProcessGroup group) {
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
    private String deviceMemory(ProcessGroup group) {
        Device device = Device.cuda(0);
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

    private String ddp(ProcessGroup group) throws CheckSkippedException {
        Libtorch.load();
        if (!torch.cuda_is_available()) {
            throw new CheckSkippedException("libtorch's CUDA build is not on the class path."
                    + " The CUDA build is the classifier"
                    + " linux-x86_64-gpu of org.bytedeco:pytorch (458 MB) and needs CUDA 13 and cuDNN 9");
        }
        return CudaTraining.compareWithCpu(group);
    }

    private static void fill(MemorySegment memory, float value) {
        IntStream.range(0, COUNT).forEach(i -> memory.setAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i, value));
    }

    private static void requireSum(MemorySegment memory, ProcessGroup group) {
        float expected = group.size() * (group.size() + 1) / 2f;
        for (int i = 0; i < COUNT; i++) {
            float found = memory.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
            require(found == expected, "element " + i + " is " + found + ", not " + expected);
        }
    }

    private static void require(boolean isTrue, String failure) {
        if (!isTrue) {
            throw new IllegalStateException(failure);
        }
    }
}
