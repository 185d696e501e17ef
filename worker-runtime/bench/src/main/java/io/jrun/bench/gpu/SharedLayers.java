package io.jrun.bench.gpu;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.file.TemporaryFolder;
import io.jrun.models.gpt2.Gpt2;
import io.jrun.models.gpt2.Gpt2Config;
import io.jrun.models.transformer.ExpertLayers;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.context.ContextParallel;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.expert.ExpertOptions;
import io.jrun.train.expert.ExpertParallel;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.offload.OffloadedOptimizer;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.pipeline.PipelineOptions;
import io.jrun.train.pipeline.PipelineParallel;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.precision.Autocast;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensorparallel.TensorParallel;
import io.jrun.train.zero.ZeroOptimizer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Trains a small GPT-2 on GPUs whose states, layers, sequences or experts all ranks share. Compares the parameters with
 * the same steps of one rank on the CPU.
 */
final class SharedLayers {
    private static final Gpt2Config CONFIG = new Gpt2Config(96, 32, 64, 2, 4, 256, 1e-5, true);
    private static final int STEPS = 5;
    /** The steps that take memory: for gradients, states and the order of units. */
    private static final int FIRST_STEPS = 3;

    private static final int BATCH = 4;
    private static final double RATE = 0.1;
    private static final double TOLERANCE = 1e-4;

    /**
     * The parameters move by 0.05 at most. On the CPU, two trainings in bfloat16 differ by 1.6e-4, and bfloat16 differs
     * from float32 by 2.4e-4.
     */
    private static final double BFLOAT16_TOLERANCE = 1e-3;

    private static final FusedSgd RULE = FusedSgd.PLAIN;
    private static final List<ParameterGroup> ALL = ParameterGroup.all(0);
    private static final LearningRateSchedule SCHEDULE = LearningRateSchedule.constant(RATE);

    private SharedLayers() {}

    /** Tensor parallelism with sequence parallelism. */
    static String tensorParallel(ProcessGroup group, Device device) {
        Map<String, Tensor> expected = serial();
        MeshAxis axis = new MeshAxis("tp", group);
        Gpt2 model = model(device);
        TensorParallel.apply(model, axis, true, model.tensorParallelPlan());
        train(model, (x, y) -> AutogradBridge.instance().backward(List.of(model.loss(x, y)), List.of()));
        return compare(whole(model), expected);
    }

    /** Context parallelism. */
    static String contextParallel(ProcessGroup group, Device device, ContextParallel.Exchange exchange) {
        return compare(sharedSequences(group, device, exchange, Gpt2::loss), serial());
    }

    /**
     * The ring with blocks of 16 bits: attention compared with float32, and a training in bfloat16 compared with one rank
     * in bfloat16 on the same device and on the CPU.
     */
    static String ringInBfloat16(ProcessGroup group, Device device) {
        Map<String, Tensor> found =
                sharedSequences(group, device, ContextParallel.Exchange.RING, SharedLayers::bfloat16Loss);
        return RingBlocks.compareWithCpu(group, device)
                + "; against one rank on the same device: "
                + compare(found, serial(device, SharedLayers::bfloat16Loss), BFLOAT16_TOLERANCE)
                + "; on the CPU: "
                + compare(found, serial(Device.CPU, SharedLayers::bfloat16Loss), BFLOAT16_TOLERANCE);
    }

    /** The loss of a model for tokens and targets. */
    private interface Loss {
        Tensor of(Gpt2 model, Tensor x, Tensor y);
    }

    private static Tensor bfloat16Loss(Gpt2 model, Tensor x, Tensor y) {
        try (Autocast _ = Autocast.on(model.device(), torch.ScalarType.BFloat16)) {
            return model.loss(x, y);
        }
    }

    private static Map<String, Tensor> sharedSequences(
            ProcessGroup group, Device device, ContextParallel.Exchange exchange, Loss loss) {
        MeshAxis axis = new MeshAxis("cp", group);
        Gpt2 model = model(device);
        ContextParallel context = ContextParallel.apply(model, axis, axis, exchange);
        try (DistributedDataParallel<Gpt2> ddp = new DistributedDataParallel<>(model, group)) {
            train(model, (x, y) -> {
                try (Step step = ddp.step()) {
                    step.backward(loss.of(model, context.tokens(x), context.tokens(y)));
                }
            });
        }
        return ModuleTensors.parameters(model);
    }

    /** Full sharding: each rank keeps a part of all parameters, and each block is a unit. */
    static String fullySharded(ProcessGroup group, Device device) {
        Map<String, Tensor> expected = serial();
        Gpt2 model = model(device);
        FullyShardedDataParallel sharded = FullyShard.apply(model, new MeshAxis("shard", group));
        try (FlatOptimizer optimizer =
                new FlatOptimizer(sharded.parameters(), RULE, ALL, SCHEDULE, sharded.gradientMemory())) {
            steps(model, (x, y) -> {
                try (Step step = sharded.step()) {
                    optimizer.zeroGradients();
                    step.backward(model.loss(x, y));
                    optimizer.step();
                }
            });
        }
        return compare(sharded, expected);
    }

    /** Full sharding with parameters, gradients and states in files. The CPU makes the steps of the optimizer. */
    static String statesInFiles(ProcessGroup group, Device device) throws IOException {
        Map<String, Tensor> expected = serial();
        Gpt2 model = model(device);
        try (TemporaryFolder folder = TemporaryFolder.make(Path.of(System.getProperty("java.io.tmpdir")), "gpu-check");
                OffloadedOptimizer optimizer = new OffloadedOptimizer(folder.path(), group, RULE, ALL, SCHEDULE)) {
            FullyShardedDataParallel sharded =
                    new FullyShardedDataParallel(new MeshAxis("shard", group), FsdpOptions.DEFAULT, optimizer);
            FullyShard.apply(model, sharded);
            steps(model, (x, y) -> {
                try (Step step = sharded.step()) {
                    step.backward(model.loss(x, y));
                    optimizer.step();
                }
            });
            return compare(sharded, expected);
        }
    }

    /** Stage 2 of ZeRO: each rank keeps a part of the gradients and of the optimizer's states. */
    static String sharedStates(ProcessGroup group, Device device) {
        Map<String, Tensor> expected = serial();
        Gpt2 model = model(device);
        DdpOptions options = DdpOptions.DEFAULT.withPlacement(GradientPlacement.SHARDED_GRADIENTS);
        try (DistributedDataParallel<Gpt2> ddp = new DistributedDataParallel<>(model, group, options);
                ZeroOptimizer optimizer = ZeroOptimizer.of(ddp.reducer(), RULE, ALL, SCHEDULE)) {
            steps(model, (x, y) -> {
                try (Step step = ddp.step()) {
                    optimizer.zeroGradients();
                    step.backward(model.loss(x, y));
                    optimizer.step();
                }
            });
        }
        return compare(ModuleTensors.parameters(model), expected);
    }

    /** A pipeline of one stage for each rank, with a micro-batch for each sequence. */
    static String pipeline(ProcessGroup group, Device device) {
        Map<String, Tensor> expected = serial();
        Gpt2 model = model(device);
        Map<String, Tensor> found = new LinkedHashMap<>();
        PipelineOptions options =
                PipelineOptions.of(ScheduleKind.ONE_FORWARD_ONE_BACKWARD, group.size(), 1, Math.toIntExact(BATCH));
        try (PipelineParallel pipeline = new PipelineParallel(
                        model.pipelineLayers(), model::outputLoss, new MeshAxis("pp", group), options);
                FlatOptimizer optimizer = new FlatOptimizer(pipeline.parameters(), RULE, ALL, SCHEDULE)) {
            steps(model, (x, y) -> {
                optimizer.zeroGradients();
                pipeline.step(sequences(x), sequences(y));
                optimizer.step();
            });
            pipeline.parameters().forEach((name, parameter) -> {
                if (parameter.isHere()) {
                    found.put(name, parameter.local());
                }
            });
        }
        expected.keySet().retainAll(found.keySet());
        return compare(found, expected);
    }

    private static List<Tensor> sequences(Tensor tokens) {
        List<Tensor> sequences = new ArrayList<>();
        for (long i = 0; i < BATCH; i++) {
            sequences.add(tokens.narrow(0, i, 1));
        }
        return sequences;
    }

    /** Layers of experts: each rank keeps a part of the experts. */
    static String expertParallel(ProcessGroup group, Device device) {
        ExpertLayers layers = new ExpertLayers(2, new ExpertOptions(2 * group.size(), 2, 0, 0.01, 0));
        Map<String, Tensor> expected = serial(layers);
        Gpt2 model = model(device, layers);
        new ExpertParallel(new MeshAxis("ep", group)).apply(model);
        try (DistributedDataParallel<Gpt2> ddp = new DistributedDataParallel<>(model, group)) {
            train(model, (x, y) -> {
                try (Step step = ddp.step()) {
                    step.backward(model.loss(x, y));
                }
            });
            return compare(whole(model), expected);
        }
    }

    private static Map<String, Tensor> whole(Gpt2 model) {
        Map<String, Tensor> whole = new LinkedHashMap<>();
        try (NoGradGuard _ = new NoGradGuard()) {
            Parameters.of(model).forEach((name, parameter) -> whole.put(name, parameter.whole()));
        }
        return whole;
    }

    private static Map<String, Tensor> serial() {
        return serial(Device.CPU, Gpt2::loss);
    }

    private static Map<String, Tensor> serial(Device device, Loss loss) {
        Gpt2 model = model(device);
        train(model, (x, y) -> AutogradBridge.instance().backward(List.of(loss.of(model, x, y)), List.of()));
        return ModuleTensors.parameters(model);
    }

    private static Map<String, Tensor> serial(ExpertLayers experts) {
        Gpt2 model = model(Device.CPU, experts);
        train(model, (x, y) -> AutogradBridge.instance().backward(List.of(model.loss(x, y)), List.of()));
        return ModuleTensors.parameters(model);
    }

    private static Gpt2 model(Device device) {
        return model(device, ExpertLayers.NONE);
    }

    private static Gpt2 model(Device device, ExpertLayers experts) {
        Gpt2 model = new Gpt2(CONFIG, experts, device);
        model.build();
        model.initialize(1);
        return model;
    }

    private static void train(Gpt2 model, BiConsumer<Tensor, Tensor> backward) {
        SGD optimizer = new SGD(model.parameters(), new SGDOptions(RATE));
        steps(model, (x, y) -> {
            optimizer.zero_grad();
            backward.accept(x, y);
            optimizer.step();
        });
    }

    private static void steps(Gpt2 model, BiConsumer<Tensor, Tensor> step) {
        long before = 0;
        for (int number = 0; number < STEPS; number++) {
            if (number == FIRST_STEPS) {
                before = usedBytes(model.device());
            }
            try (PointerScope _ = new PointerScope()) {
                step.accept(tokens(model, number), tokens(model, number + 1));
            }
        }
        long grown = usedBytes(model.device()) - before;
        GpuCheck.require(
                grown <= 0,
                "the memory of tensors has grown by " + grown + " bytes in the last " + (STEPS - FIRST_STEPS)
                        + " steps");
    }

    /** The bytes of tensors on a GPU; 0 for the CPU. */
    private static long usedBytes(Device device) {
        return device.isCpu() ? 0 : AllocatorStatistics.usedBytes();
    }

    private static Tensor tokens(Gpt2 model, int step) {
        long[] values = new long[(int) (BATCH * CONFIG.context())];
        for (int i = 0; i < values.length; i++) {
            values[i] = (long) (i + 1) * (i + step + 3) % CONFIG.vocabulary();
        }
        Tensor host = Tensor.create(values, BATCH, CONFIG.context());
        return host.to(
                new org.bytedeco.pytorch.Device(model.device().toString()),
                host.scalar_type().intern());
    }

    private static String compare(FullyShardedDataParallel found, Map<String, Tensor> expected) {
        return compare(
                found.wholeParameters(
                        (_, whole) -> TensorMemory.own(whole.detach().clone())),
                expected);
    }

    private static String compare(Map<String, Tensor> found, Map<String, Tensor> expected) {
        return compare(found, expected, TOLERANCE);
    }

    private static String compare(Map<String, Tensor> found, Map<String, Tensor> expected, double tolerance) {
        double largest = 0;
        try (NoGradGuard _ = new NoGradGuard()) {
            for (Map.Entry<String, Tensor> parameter : expected.entrySet()) {
                double difference = Objects.requireNonNull(found.get(parameter.getKey()), parameter.getKey())
                        .cpu()
                        .sub(parameter.getValue().cpu())
                        .abs()
                        .max()
                        .item_double();
                if (!(difference < tolerance)) {
                    throw new IllegalStateException(
                            parameter.getKey() + " differs from the parameter of one rank by " + difference);
                }
                largest = Math.max(largest, difference);
            }
        }
        return STEPS + " steps of GPT-2, parameters within " + largest + " of one rank's";
    }
}
