package io.jrun.bench.gpu;

import io.jrun.comm.Buffer;
import io.jrun.comm.DataType;
import io.jrun.comm.Distributed;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.comm.cuda.DeviceMemory;
import io.jrun.train.precision.Float8;
import io.jrun.train.precision.Float8Product;
import io.jrun.train.precision.Float8Tensor;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Measures one rank on one GPU: products, the time of a call, training steps, NCCL; beside Python's torch on the same
 * GPU, in turn. Prints a line for each measurement. A time is no reason to fail.
 */
public final class GpuTimes {
    private static final long SIDE = 8192;
    private static final int ROUNDS = 10;
    /** Calls of a burst: fewer than the driver's queue takes, so that the host does not wait for the GPU. */
    private static final int CALLS = 500;

    private static final int BURSTS = 60;
    private static final int OPERATIONS = 2000;
    private static final String PEER = "--peer=";

    private final World world;
    private final PythonPeer python;

    private GpuTimes(World world, PythonPeer python) {
        this.world = world;
        this.python = python;
    }

    /** Runs all measurements; the arguments are {@code --json} and {@code --peer=PROGRAM}, the program for Python. */
    public static void main(String[] args) {
        List<String> words = Arrays.asList(args);
        Optional<Path> script = words.stream()
                .filter(word -> word.startsWith(PEER))
                .map(word -> Path.of(word.substring(PEER.length())))
                .findFirst();
        boolean hasFailed;
        try (World world = Distributed.init()) {
            CheckReport report = new CheckReport(world, words.contains("--json"));
            new GpuTimes(world, new PythonPeer(script)).runAll(report);
            hasFailed = report.hasFailed();
        }
        if (hasFailed) {
            System.exit(1);
        }
    }

    private interface Measurement {
        String run() throws Exception;
    }

    private void runAll(CheckReport report) {
        report.check("time-calls", () -> onGpu(this::calls));
        report.check("time-fp8-product", () -> onGpu(this::float8Product));
        report.check("time-step-b8", () -> step(false, new GptSteps.Setting(8, GptSteps.Precision.BF16, false, 25)));
        report.check("time-step-b8-ddp", () -> step(true, new GptSteps.Setting(8, GptSteps.Precision.BF16, false, 25)));
        report.check("time-step-b8-clip", () -> step(true, new GptSteps.Setting(8, GptSteps.Precision.BF16, true, 25)));
        report.check("time-step-b1-ddp", () -> step(true, new GptSteps.Setting(1, GptSteps.Precision.BF16, false, 60)));
        report.check("time-step-b4-f32", () -> step(false, new GptSteps.Setting(4, GptSteps.Precision.F32, false, 10)));
        report.check(
                "time-step-b4-tf32", () -> step(false, new GptSteps.Setting(4, GptSteps.Precision.TF32, false, 15)));
        report.check("memory-300-steps", () -> onGpu(this::memory));
        report.check("time-nccl", this::nccl);
        report.check("time-host-8-bytes", this::hostMemory);
    }

    private static String onGpu(Measurement measurement) throws Exception {
        GpuCheck.requireCudaBuild();
        return measurement.run();
    }

    private String calls() throws Exception {
        double rate = product();
        double micros = queueTime();
        Map<String, Double> other = python.measure("calls");
        return String.format(Locale.ROOT, "bf16 product of %d: %.0f TFLOP/s", SIDE, rate)
                + python.beside(rate, PythonPeer.number(other, "tflops"))
                + String.format(Locale.ROOT, "; add_ queued in %.2f us", micros)
                + python.beside(micros, PythonPeer.number(other, "add_us"))
                + (python.version().isEmpty() ? "" : "; torch " + python.version());
    }

    /** TFLOP/s of a product of bfloat16 matrices. */
    private static double product() {
        try (PointerScope _ = new PointerScope()) {
            Tensor a = torch.randn(new long[] {SIDE, SIDE}, on(torch.ScalarType.BFloat16));
            Tensor b = torch.randn(new long[] {SIDE, SIDE}, on(torch.ScalarType.BFloat16));
            return productsPerSecond(() -> torch.mm(a, b));
        }
    }

    /** The product of matrices of e4m3 as the forward pass of 8-bit layers computes it. */
    private String float8Product() throws Exception {
        GpuCheck.requireFloat8Products();
        try (PointerScope _ = new PointerScope()) {
            Float8Tensor a = randomFloat8();
            Float8Tensor b = randomFloat8();
            double rate = productsPerSecond(() -> Float8Product.multiply(a, b, Float8Product.Accumulation.FAST));
            Map<String, Double> other = python.measure("fp8");
            return String.format(Locale.ROOT, "e4m3 product of %d, float32 result: %.0f TFLOP/s", SIDE, rate)
                    + python.beside(rate, PythonPeer.number(other, "fp8_tflops"));
        }
    }

    private static Float8Tensor randomFloat8() {
        Tensor values = torch.randn(new long[] {SIDE, SIDE}, on(torch.ScalarType.Float));
        return new Float8Tensor(Float8.E4M3.encode(values), torch.ones(new long[] {1}, on(torch.ScalarType.Float)));
    }

    /** TFLOP/s of a product of square matrices. */
    private static double productsPerSecond(Supplier<Tensor> product) {
        long begin = 0;
        for (int i = -3; i < ROUNDS; i++) {
            if (i == 0) {
                torch.cuda_synchronize();
                begin = System.nanoTime();
            }
            try (PointerScope _ = new PointerScope()) {
                Tensor _ = product.get();
            }
        }
        torch.cuda_synchronize();
        return 2.0 * SIDE * SIDE * SIDE * ROUNDS / (System.nanoTime() - begin) / 1e3;
    }

    /** Microseconds in which the host queues {@code add_}. */
    private static double queueTime() {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Tensor x = torch.ones(new long[] {1}, on(torch.ScalarType.Float));
            Scalar one = new Scalar(1f);
            double[] micros = new double[BURSTS];
            for (int burst = 0; burst < BURSTS; burst++) {
                torch.cuda_synchronize();
                try (PointerScope _ = new PointerScope()) {
                    long begin = System.nanoTime();
                    for (int i = 0; i < CALLS; i++) {
                        x.add_(one);
                    }
                    micros[burst] = (System.nanoTime() - begin) / 1e3 / CALLS;
                }
            }
            torch.cuda_synchronize();
            return median(micros);
        }
    }

    private static TensorOptions on(torch.ScalarType type) {
        return new TensorOptions(type).device(new DeviceOptional(new Device("cuda:0")));
    }

    private String step(boolean isDdp, GptSteps.Setting setting) throws Exception {
        GpuCheck.requireCudaBuild();
        GptSteps.Result own = isDdp
                ? withGroup(group -> new GptSteps(Optional.of(group)).measure(setting))
                : new GptSteps(Optional.empty()).measure(setting);
        Map<String, Double> other = python.measure(
                "step",
                "--batch=" + setting.batch(),
                "--steps=" + setting.steps(),
                "--precision=" + setting.precision().name().toLowerCase(Locale.ROOT),
                "--mode=" + (isDdp ? "ddp" : "none"),
                setting.clips() ? "--clip" : "--no-clip");
        return String.format(Locale.ROOT, "%.3f ms, loss %.4f", own.millis(), own.loss())
                + python.beside(own.millis(), PythonPeer.number(other, "step_ms"));
    }

    private String memory() throws Exception {
        GptSteps.Result result = withGroup(group ->
                new GptSteps(Optional.of(group)).measure(new GptSteps.Setting(1, GptSteps.Precision.BF16, false, 300)));
        GpuCheck.require(result.grownBytes() == 0, "the GPU's memory grew by " + result.grownBytes() + " bytes");
        return String.format(Locale.ROOT, "0 bytes in 300 steps of %.3f ms", result.millis());
    }

    private interface GroupMeasurement<T> {
        T run(ProcessGroup group) throws Exception;
    }

    private <T> T withGroup(GroupMeasurement<T> measurement) throws Exception {
        try (ProcessGroup group = NcclGroup.ofThisRank(world)) {
            return measurement.run(group);
        }
    }

    private String nccl() throws Exception {
        return withGroup(group -> {
            try (DeviceMemory memory = new DeviceMemory(io.jrun.comm.Device.cuda(0), Float.BYTES)) {
                Buffer buffer = memory.buffer(DataType.F32);
                double[] queue = new double[OPERATIONS];
                double[] await = new double[OPERATIONS];
                for (int i = 0; i < OPERATIONS; i++) {
                    long begin = System.nanoTime();
                    group.allReduce(buffer, ReduceOp.SUM); // returns when the default stream waits for the sum
                    queue[i] = (System.nanoTime() - begin) / 1e3;
                    begin = System.nanoTime();
                    group.allReduceAsync(buffer, ReduceOp.SUM).await();
                    await[i] = (System.nanoTime() - begin) / 1e3;
                }
                return String.format(
                        Locale.ROOT,
                        "one rank, 4 bytes of device memory: queued in %.1f us, awaited in %.1f us",
                        median(queue),
                        median(await));
            }
        });
    }

    private String hostMemory() throws Exception {
        return withGroup(group -> {
            long[] word = {world.rank()};
            double[] micros = new double[OPERATIONS];
            for (int i = 0; i < OPERATIONS; i++) {
                long begin = System.nanoTime();
                group.allReduce(MemorySegment.ofArray(word), DataType.I64, 1, ReduceOp.MIN);
                micros[i] = (System.nanoTime() - begin) / 1e3;
            }
            return String.format(Locale.ROOT, "one rank, a group of nccl: %.1f us", median(micros));
        });
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
