package io.jrun.bench.gpu;

import io.jrun.comm.Codec;
import io.jrun.comm.Device;
import io.jrun.comm.Distributed;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import io.jrun.train.context.ContextParallel.Exchange;
import io.jrun.train.device.ComputeCapability;
import io.jrun.train.nccl.NcclProvider;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.bytedeco.pytorch.global.torch;

/**
 * Checks the parts of jrun that need a GPU. jrun starts one rank for each GPU of the machine, or with {@code --share} two
 * ranks on one GPU. Rank 0 prints one line for each check. The exit code is 1 if a check failed.
 */
public final class GpuCheck {
    private static final String NCCL = "nccl";
    private static final String OWN_PLANE = GroupOptions.OWN_DEVICE_PLANE;

    private final World world;
    private final boolean isShared;
    private final boolean isSimulated;

    private GpuCheck(World world, List<String> words) {
        this.world = world;
        this.isShared = words.contains("--share");
        this.isSimulated = words.contains("--simulated");
    }

    /**
     * Runs all checks. The arguments are {@code --json}, {@code --share}, {@code --simulated}: the GPUs are made up, and
     * each rank takes one by its local rank; and {@code --lose-rank}: runs only the check of a killed rank, in a job with
     * one restart.
     */
    public static void main(String[] args) {
        List<String> words = Arrays.asList(args);
        boolean hasFailed;
        try (World world = Distributed.init()) {
            CheckReport report = new CheckReport(world, words.contains("--json"));
            GpuCheck check = new GpuCheck(world, words);
            check.prepare();
            if (words.contains("--lose-rank")) {
                report.check("lost-rank", check::lostRank);
            } else {
                check.runAll(report);
            }
            hasFailed = report.hasFailed();
        }
        if (hasFailed) {
            System.exit(1);
        }
    }

    /** Sets variables before CUDA and NCCL are loaded. */
    private void prepare() {
        if (isShared) {
            NativeEnvironment.shareGpu(world.rank());
        }
        if (isSimulated) {
            NativeEnvironment.set("CUDA_VISIBLE_DEVICES", Integer.toString(isShared ? 0 : world.localRank()));
        }
    }

    private void runAll(CheckReport report) {
        String all = isShared ? "shared-" : "";
        report.check(all + "device-binding", this::deviceBinding);
        if (!isShared) {
            report.check("cuda-build", this::cudaBuild);
            report.check("nccl-one-rank", () -> onGroup(NCCL, true, DeviceChecks::registeredMemory));
            report.check("pinned-copies", () -> onGroup(NCCL, true, DeviceChecks::heapMemory));
            report.check("device-buffers", () -> onGroup(NCCL, true, DeviceChecks::deviceMemory));
            report.check("plane-one-rank", () -> onGroup(OWN_PLANE, true, DeviceChecks::deviceMemory));
            report.check("file-reads", DeviceChecks::fileReads);
            report.check("ddp-cuda-one-rank", () -> onGroup(NCCL, true, this::ddp));
            report.check("fp8-cuda", this::float8);
        }
        report.check(all + "nccl-all-ranks", () -> onGroup(NCCL, false, DeviceChecks::registeredMemory));
        report.check(all + "device-buffers-all", () -> onGroup(NCCL, false, DeviceChecks::deviceMemory));
        report.check(all + "close-right-after", this::closeRightAfter);
        report.check(all + "plane-all-ranks", () -> onGroup(OWN_PLANE, false, DeviceChecks::deviceMemory));
        report.check(all + "ddp-cuda", () -> onGroup(NCCL, false, this::ddp));
        report.check(all + "ddp-cuda-plane", () -> onGroup(OWN_PLANE, false, this::ddp));
        report.check(all + "tp-cuda", () -> onCuda(NCCL, group -> SharedLayers.tensorParallel(group, Device.cuda(0))));
        report.check(
                all + "tp-cuda-plane",
                () -> onCuda(OWN_PLANE, group -> SharedLayers.tensorParallel(group, Device.cuda(0))));
        for (Exchange exchange : Exchange.values()) {
            report.check(
                    all + "cp-" + exchange.name().toLowerCase(Locale.ROOT).replace('_', '-') + "-cuda-plane",
                    () -> onCuda(OWN_PLANE, group -> SharedLayers.contextParallel(group, Device.cuda(0), exchange)));
        }
        report.check(
                all + "cp-ring-bf16-cuda-plane",
                () -> onCuda(OWN_PLANE, group -> SharedLayers.ringInBfloat16(group, Device.cuda(0))));
        for (String backend : List.of(NCCL, OWN_PLANE)) {
            String on = backend.equals(NCCL) ? "-cuda" : "-cuda-plane";
            report.check(
                    all + "fsdp" + on,
                    () -> onCuda(backend, group -> SharedLayers.fullySharded(group, Device.cuda(0))));
            report.check(
                    all + "fsdp-files" + on,
                    () -> onCuda(backend, group -> SharedLayers.statesInFiles(group, Device.cuda(0))));
            report.check(
                    all + "zero" + on,
                    () -> onCuda(backend, group -> SharedLayers.sharedStates(group, Device.cuda(0))));
            report.check(all + "pp" + on, () -> onCuda(backend, group -> SharedLayers.pipeline(group, Device.cuda(0))));
            report.check(
                    all + "ep" + on,
                    () -> onCuda(backend, group -> SharedLayers.expertParallel(group, Device.cuda(0))));
        }
        report.check(all + "missing-rank", this::missingRank);
    }

    /** Each rank must see exactly one GPU, and each rank a different GPU, or all ranks the same one. */
    private String deviceBinding() throws CheckSkippedException {
        if (isSimulated) {
            throw new CheckSkippedException("the GPUs are made up; jrun gives a worker real GPUs only");
        }
        String visible =
                Optional.ofNullable(System.getenv("CUDA_VISIBLE_DEVICES")).orElse("");
        List<String> all = world.group().objects().allGather(visible, Codec.STRING);
        require(!visible.isEmpty() && !visible.contains(","), "CUDA_VISIBLE_DEVICES is '" + visible + "', not one GPU");
        int expected = isShared ? 1 : all.size();
        require(
                new HashSet<>(all).size() == expected,
                (isShared ? "the ranks do not share one GPU: " : "ranks share a GPU: ") + all);
        return "GPU " + visible;
    }

    private String cudaBuild() throws CheckSkippedException {
        requireLibtorchGpu();
        return "libtorch's CUDA build sees " + torch.cuda_device_count() + " GPU";
    }

    private void requireRealGpus() throws CheckSkippedException {
        if (isSimulated) {
            throw new CheckSkippedException("the GPUs are made up; libtorch computes on real GPUs only");
        }
    }

    private void requireLibtorchGpu() throws CheckSkippedException {
        requireRealGpus();
        requireCudaBuild();
        require(torch.cuda_is_available(), "libtorch's CUDA build sees no GPU. 'jrun cuda status' shows the driver");
    }

    /** Loads libtorch. Skips the check in a process with the plain build. */
    static void requireCudaBuild() throws CheckSkippedException {
        Optional<String> why = Libtorch.whyWithoutCuda();
        if (why.isPresent()) {
            throw new CheckSkippedException(why.get());
        }
        Libtorch.load();
    }

    private interface GroupCheck {
        String run(ProcessGroup group) throws Exception;
    }

    /** Runs a check on a new group: of each rank alone, or of all. */
    private String onGroup(String backend, boolean isAlone, GroupCheck check) throws Exception {
        requireRanks(backend, isAlone);
        try (ProcessGroup group = world.group()
                .split(isAlone ? world.rank() : 0, 0, world.group().options().withBackend(backend))) {
            return check.run(group);
        }
    }

    private void requireRanks(String backend, boolean isAlone) throws CheckSkippedException {
        if (backend.equals(NCCL)) {
            Optional<String> reason = new NcclProvider().unavailableReason();
            if (reason.isPresent()) {
                throw new CheckSkippedException(reason.get());
            }
        }
        if (!isAlone && world.size() == 1) {
            throw new CheckSkippedException("jrun sees one GPU on this machine; the check needs two or more");
        }
    }

    private String closeRightAfter() throws Exception {
        requireRanks(NCCL, false);
        for (int round = 0; round < DeviceChecks.CLOSES; round++) {
            String _ = onGroup(NCCL, false, DeviceChecks::reduceOnly);
        }
        return DeviceChecks.CLOSES + " groups that close as soon as this rank has its result";
    }

    private String missingRank() throws Exception {
        requireRanks(NCCL, false);
        return DeviceChecks.missingRank(world, NCCL, Duration.ofSeconds(isSimulated ? 1 : 3));
    }

    /**
     * The last rank ends itself with SIGKILL while the others wait for it in a sum. jrun starts all ranks again, and the
     * sum must succeed.
     */
    private String lostRank() throws Exception {
        requireRanks(NCCL, false);
        if (world.restartCount() == 0 && world.rank() == world.size() - 1) {
            String _ = onGroup(NCCL, false, DeviceChecks::reduceOnly);
            int _ = new ProcessBuilder(
                            "kill", "-9", Long.toString(ProcessHandle.current().pid()))
                    .start()
                    .waitFor();
        }
        for (int round = world.restartCount(); round < 2; round++) {
            String _ = onGroup(NCCL, false, DeviceChecks::reduceOnly);
        }
        return "a sum after restart " + world.restartCount();
    }

    /** Runs a training on a group of all ranks. */
    private String onCuda(String backend, GroupCheck training) throws Exception {
        return onGroup(backend, false, group -> {
            requireCuda(group);
            return training.run(group);
        });
    }

    private String ddp(ProcessGroup group) throws CheckSkippedException {
        requireCuda(group);
        return CudaTraining.compareWithCpu(group);
    }

    private String float8() throws CheckSkippedException {
        requireLibtorchGpu();
        requireFloat8Products();
        return Float8Check.compareWithCpu(Device.cuda(0));
    }

    /** Skips a check or a measurement on a card that does not multiply 8-bit numbers. */
    static void requireFloat8Products() throws CheckSkippedException {
        Optional<ComputeCapability> capability = ComputeCapability.of(Device.cuda(0));
        if (capability.isPresent() && !capability.get().hasFloat8Products()) {
            throw new CheckSkippedException("the GPU has compute capability " + capability.get()
                    + "; products of 8-bit numbers need 8.9 or newer");
        }
    }

    private void requireCuda(ProcessGroup group) throws CheckSkippedException {
        requireLibtorchGpu();
        DeviceChecks.requireDevice(group, Device.cuda(0));
    }

    static void require(boolean isTrue, String failure) {
        if (!isTrue) {
            throw new IllegalStateException(failure);
        }
    }
}
