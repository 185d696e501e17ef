package io.jrun.train.ddp;

import static io.jrun.train.EqualBits.assertEqualBits;
import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.DeviceStream;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.EngineThread;
import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.ddp.hook.BucketCheck;
import io.jrun.train.ddp.hook.CompressionHook;
import io.jrun.train.ddp.hook.PowerSgdHook;
import io.jrun.train.ddp.hook.PowerSgdOptions;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.nccl.SimulatedCuda;
import io.jrun.train.nccl.SimulatedCuda.LoggedCall;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.precision.DeviceLossScaler;
import io.jrun.train.precision.NonFinitePolicy;
import io.jrun.train.precision.ScalePolicy;
import io.jrun.train.reducer.AllReduceHook;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.DeferredNumber;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.SimulatedPlacement;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.assertj.core.data.Offset;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * DDP with parameters and gradients in the memory of simulated GPUs, by the simulated NCCL: the same bits as in host
 * memory, no read of device memory by its address, and no wait of the host within a step.
 */
@Timeout(120)
class DeviceTrainingTest {
    private static final int RANKS = 2;
    private static final int STEPS = 6;
    private static final int LOGGED = 3;

    @TempDir
    private Path folder;

    /** Trainings that are run in host memory and on devices. */
    enum Kind {
        /** Accumulation, clipping, and new buckets after the first step. */
        PLAIN,
        UNUSED,
        POWER_SGD,
        UNEVEN;

        DdpOptions options() {
            return DdpOptions.DEFAULT.withBuckets(2000, 10_000).withFindUnusedParameters(this == UNUSED);
        }

        void register(DistributedDataParallel<TinyGpt> model) {
            if (this == POWER_SGD) {
                model.registerHook(
                        new PowerSgdHook(PowerSgdOptions.DEFAULT.withRank(2).withStartPass(2)));
            }
        }
    }

    /** The program of the test. */
    public static final class Trains {
        private final @Nullable SimulatedPlacement placement;
        private final @Nullable Path log;

        private Trains(@Nullable SimulatedPlacement placement, @Nullable Path log) {
            this.placement = placement;
            this.log = log;
        }

        /** Entry point. */
        public static void main(String[] args) {
            Libtorch.setThreads(1);
            for (Kind kind : Kind.values()) {
                List<float[]> onHost = new Trains(null, null).train(kind);
                List<float[]> onDevice = new Trains(SimulatedPlacement.install(), Path.of(args[0])).train(kind);
                SimulatedPlacement.remove();
                assertEqualBits(onDevice, onHost);
                System.out.println(kind + " is equal");
            }
        }

        private List<float[]> train(Kind kind) {
            AtomicReferenceArray<List<float[]>> results = new AtomicReferenceArray<>(RANKS);
            LocalWorld.run(LocalWorldOptions.ofSize(RANKS).withDeterministic(true), world -> {
                TinyGpt module = Training.model(1 + world.rank());
                Map<String, Tensor> parameters = ModuleTensors.parameters(module);
                if (placement != null) {
                    placement.use(Device.cuda(world.localRank()));
                    parameters.values().forEach(placement::move);
                }
                String backend = placement == null ? "jrun" : "nccl";
                try (ProcessGroup group = world.group()
                                .split(0, world.rank(), world.group().options().withBackend(backend));
                        var model = new DistributedDataParallel<>(module, group, kind.options());
                        FlatOptimizer optimizer = new FlatOptimizer(
                                Parameters.of(parameters),
                                FusedAdamW.DEFAULT,
                                ParameterGroup.decayMatrices(0.1),
                                LearningRateSchedule.linear(0.01, 0.1, 1, 4),
                                model.gradientMemory())) {
                    kind.register(model);
                    Runnable update = () -> {
                        DeferredNumber norm =
                                Gradients.clip(Parameters.of(parameters).values(), 0.5);
                        optimizer.step();
                        if (placement == null || optimizer.steps() % LOGGED == 0) {
                            assertThat(norm.value()).isPositive();
                        }
                    };
                    int inputs = kind == Kind.UNEVEN ? STEPS - 2 * world.rank() : STEPS;
                    long waits = DeviceWaits.count();
                    Runnable training = () -> {
                        for (int current = 0; current < inputs; current++) {
                            step(kind, model, current, world.rank());
                            update.run();
                            if (kind == Kind.PLAIN && current == 0) { // the buckets are new from here on
                                mark(world.rank(), world.group(), "PLAIN begins");
                            }
                        }
                    };
                    if (kind == Kind.UNEVEN) {
                        model.join(JoinOptions.DEFAULT.withDivideByInitialSize(false), update, training::run);
                    } else {
                        training.run();
                    }
                    mark(world.rank(), world.group(), kind + " ends");
                    if (placement != null) {
                        assertThat(DeviceWaits.count() - waits)
                                .as("waits of both ranks, one in each logged step")
                                .isEqualTo(RANKS * STEPS / LOGGED);
                    }
                    results.set(world.rank(), values(parameters));
                }
            });
            assertEqualBits(results.get(0), results.get(1));
            return results.get(0);
        }

        private void step(Kind kind, DistributedDataParallel<TinyGpt> model, int current, int rank) {
            TinyGpt module = model.module();
            module.zero_grad(true);
            try (Step step = model.step()) {
                try (NoSync _ = model.noSync()) {
                    backward(step, Training.loss(module, current, 10 + rank));
                }
                Tensor loss = Training.loss(module, current, rank);
                boolean leavesOut = kind == Kind.UNUSED && (current + rank) % 2 == 0;
                backward(step, leavesOut ? ofOneParameter(module) : loss);
            }
        }

        private static Tensor ofOneParameter(TinyGpt module) {
            Tensor first = ModuleTensors.parameters(module).values().iterator().next();
            return first.mul(first).sum();
        }

        /** On a device the hooks run on a thread of libtorch, as with a GPU. */
        private void backward(Step step, Tensor loss) {
            if (placement == null) {
                step.backward(loss);
            } else {
                EngineThread.run(() -> step.backward(loss));
            }
        }

        private void mark(int rank, ProcessGroup host, String what) {
            host.barrier();
            if (log != null && rank == 0) {
                try (Stream<String> lines = Files.lines(log)) {
                    System.out.println(what + " at call " + lines.count());
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
            host.barrier();
        }

        /** libtorch's own pointer, which the process can read. */
        private static List<float[]> values(Map<String, Tensor> parameters) {
            List<float[]> values = new ArrayList<>();
            parameters.values().forEach(tensor -> {
                float[] elements = new float[Math.toIntExact(tensor.numel())];
                tensor.data_ptr_float().get(elements);
                values.add(elements);
            });
            return values;
        }
    }

    @Test
    void trainingOnDevicesHasTheBitsOfTrainingInHostMemoryAndDoesNotWait() throws Exception {
        String printed = SimulatedCuda.start(
                        folder,
                        Trains.class,
                        Map.of("SIMCUDA_LATE", "1"),
                        folder.resolve("calls.log").toString())
                .join();
        for (Kind kind : Kind.values()) {
            assertThat(printed).contains(kind + " is equal");
        }
        List<LoggedCall> calls = SimulatedCuda.calls(folder);
        List<LoggedCall> steps = calls.subList(call(printed, "PLAIN begins"), call(printed, "PLAIN ends"));
        List<String> reductions = texts(steps, "ncclAllReduce");
        assertThat(reductions).hasSizeGreaterThan(RANKS * (STEPS - 1));
        assertThat(steps.stream().map(LoggedCall::text).filter(text -> text.matches("cudaEventRecord .* on \\(nil\\)")))
                .as("each reduction runs after the work of the default stream")
                .hasSizeGreaterThanOrEqualTo(reductions.size());
        assertThat(steps.stream().filter(DeviceTrainingTest::isOfTraining).filter(call -> isWait(call.text())))
                .as("waits of the threads that train")
                .isEmpty();
        assertThat(steps).anyMatch(call -> isOfTraining(call) && call.text().startsWith("cudaEventRecord"));
    }

    private static int call(String printed, String mark) {
        Matcher found = Pattern.compile(mark + " at call (\\d+)").matcher(printed);
        assertThat(found.find()).as(printed).isTrue();
        return Integer.parseInt(found.group(1));
    }

    private static List<String> texts(List<LoggedCall> calls, String begin) {
        return calls.stream()
                .map(LoggedCall::text)
                .filter(text -> text.startsWith(begin))
                .toList();
    }

    /** libtorch's threads have the name of the thread that has made them. */
    private static boolean isOfTraining(LoggedCall call) {
        return call.thread().startsWith("rank-") || call.thread().startsWith("pt_");
    }

    private static boolean isWait(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        return lower.contains("synchronize") || lower.contains("query") || lower.startsWith("cudamalloc ");
    }

    /** A bad gradient of one rank: no rank updates, and all ranks find it where they read. */
    public static final class Overflows {
        private Overflows() {}

        /** Entry point. */
        public static void main(String[] args) {
            Libtorch.setThreads(1);
            SimulatedPlacement placement = SimulatedPlacement.install();
            LocalWorld.run(RANKS, world -> {
                TinyGpt module = Training.model(1);
                Map<String, Tensor> parameters = ModuleTensors.parameters(module);
                Device device = Device.cuda(world.localRank());
                placement.use(device);
                parameters.values().forEach(placement::move);
                try (ProcessGroup group = world.group()
                                .split(0, world.rank(), world.group().options().withBackend("nccl"));
                        var model = new DistributedDataParallel<>(
                                module, group, DdpOptions.DEFAULT.withBuckets(2000, 10_000));
                        BucketCheck check = new BucketCheck(NonFinitePolicy.SKIP, group, device);
                        FlatOptimizer optimizer = new FlatOptimizer(
                                Parameters.of(parameters),
                                FusedAdamW.DEFAULT,
                                ParameterGroup.all(0.1),
                                LearningRateSchedule.linear(0.01, 0.1, 1, 4),
                                model.gradientMemory())) {
                    model.registerHook(check.before(CompressionHook.to(DataType.BF16)));
                    long waits = DeviceWaits.count();
                    List<float[]> before = List.of();
                    for (int number = 1; number <= 4; number++) {
                        optimizer.zeroGradients();
                        try (Step step = model.step()) {
                            double factor = number == 3 && world.rank() == 1 ? Double.POSITIVE_INFINITY : 1;
                            Tensor loss = Training.loss(module, number, world.rank());
                            check.loss(loss);
                            step.backward(loss.mul(new Scalar(factor)));
                            before = Trains.values(parameters);
                            optimizer.step(check.endStep(number));
                        }
                        if (number == 1) {
                            requireRoundedMean(world, bias(parameters).mutable_grad());
                        }
                        boolean isEqual = Arrays.equals(
                                before.getFirst(), Trains.values(parameters).getFirst());
                        assertThat(isEqual).as("step " + number).isEqualTo(number == 3);
                    }
                    world.group().barrier();
                    assertThat(DeviceWaits.count() - waits).isZero();
                    world.group().barrier();
                    assertThat(check.read()).isEqualTo(1);
                    System.out.println(world.rank() + " skipped: " + check.lastSkipped());
                    assertThat(Objects.requireNonNull(optimizer.state().get("head.bias.step"))
                                    .item_long())
                            .isEqualTo(3);
                }
            });
        }

        private static Tensor bias(Map<String, Tensor> parameters) {
            return Objects.requireNonNull(parameters.get("head.bias"));
        }

        /** The gradients are near the mean of the ranks, and rounded to 16 bits. */
        private static void requireRoundedMean(World world, Tensor gradient) {
            TinyGpt twin = Training.model(1);
            Training.loss(twin, 1, world.rank()).backward();
            Map<String, Tensor> own =
                    Map.of("mean", bias(ModuleTensors.parameters(twin)).mutable_grad());
            float[] mean = Trains.values(own).getFirst();
            world.group().allReduce(MemorySegment.ofArray(mean), DataType.F32, mean.length, ReduceOp.AVG);
            float[] rounded = Trains.values(Map.of("sum", gradient)).getFirst();
            assertThat(rounded).isNotEqualTo(mean);
            for (int i = 0; i < mean.length; i++) {
                assertThat(rounded[i]).isCloseTo(mean[i], Offset.offset(0.001f));
                assertThat(Float.floatToRawIntBits(rounded[i]) & 0xffff).isZero();
            }
        }
    }

    @Test
    void aBadGradientOfOneRankSkipsTheStepOnAllRanksWithoutAWait() throws Exception {
        String printed = SimulatedCuda.start(folder, Overflows.class, Map.of("SIMCUDA_LATE", "1"))
                .join();
        assertThat(printed)
                .contains("0 skipped: rank 1, step 3: a gradient of the bucket from '")
                .contains("1 skipped: rank 1, step 3: a gradient of the bucket from '")
                .contains("' is not finite");
    }

    /** Blocks the device, and then trains. */
    public static final class RunsAhead {
        private static final int NOT_READY = 600;

        private RunsAhead() {}

        /** Entry point. */
        public static void main(String[] args) {
            Libtorch.setThreads(1);
            SimulatedPlacement placement = SimulatedPlacement.install();
            CountDownLatch release = new CountDownLatch(1);
            LocalWorld.run(RANKS, world -> {
                TinyGpt module = Training.model(1);
                Map<String, Tensor> parameters = ModuleTensors.parameters(module);
                Device device = Device.cuda(world.localRank());
                placement.use(device);
                parameters.values().forEach(placement::move);
                try (ProcessGroup group = world.group()
                                .split(0, world.rank(), world.group().options().withBackend("nccl"));
                        var model = new DistributedDataParallel<>(
                                module, group, DdpOptions.DEFAULT.withBuckets(2000, 10_000));
                        BucketCheck check = new BucketCheck(NonFinitePolicy.SKIP, group, device);
                        DeviceLossScaler scaler = new DeviceLossScaler(ScalePolicy.DEFAULT, group, device);
                        FlatOptimizer optimizer = new FlatOptimizer(
                                Parameters.of(parameters),
                                FusedAdamW.DEFAULT,
                                ParameterGroup.all(0.1),
                                LearningRateSchedule.linear(0.01, 0.1, 1, 4),
                                model.gradientMemory())) {
                    model.registerHook(check.before(new AllReduceHook()));
                    for (int number = 1; number <= 3; number++) {
                        if (number == 2) { // the first step connects the ranks and makes new buckets
                            SimulatedCuda.synchronize(device);
                            world.group().barrier();
                            SimulatedCuda.call(DeviceStream.defaultOf(device), () -> awaitRelease(release));
                        }
                        optimizer.zeroGradients();
                        try (Step step = model.step()) {
                            Tensor loss = Training.loss(module, number, world.rank());
                            check.loss(loss);
                            step.backward(scaler.scale(loss));
                            optimizer.step(check.endStep(number));
                            optimizer.step(
                                    scaler.unscale(Parameters.of(parameters).values()));
                            scaler.update();
                            DeferredNumber _ =
                                    Gradients.clip(Parameters.of(parameters).values(), 1);
                        }
                    }
                    assertThat(SimulatedCuda.query(DeviceStream.defaultOf(device)))
                            .isEqualTo(NOT_READY);
                    world.group().barrier();
                    release.countDown();
                    SimulatedCuda.synchronize(device);
                    System.out.println("rank " + world.rank() + " ran ahead");
                }
            });
        }

        private static void awaitRelease(CountDownLatch release) {
            try {
                assertThat(release.await(30, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** The default streams stand still. A step that waited for them would not end. */
    @Test
    void theHostQueuesStepsWhileTheDeviceHasNotBegunThem() throws Exception {
        assertThat(SimulatedCuda.start(folder, RunsAhead.class, Map.of()).join())
                .contains("rank 0 ran ahead", "rank 1 ran ahead");
    }
}
