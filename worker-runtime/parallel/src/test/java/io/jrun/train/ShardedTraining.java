package io.jrun.train;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.comm.local.LocalWorldOptions;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.offload.OffloadedOptimizer;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.recompute.Recompute;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.zero.ZeroOptimizer;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;

/**
 * Trains {@link UnevenNet} for some steps of AdamW, sharded in several ways. The results are all parameters by name.
 */
public final class ShardedTraining {
    public static final int STEPS = 5;
    /** Several buckets even in this small net. */
    public static final DdpOptions BUCKETS = DdpOptions.DEFAULT.withBuckets(64, 200);

    public static final Consumer<ModelBlock> RECOMPUTED = Recompute::apply;

    /** Freezes the weight of each block. */
    public static final Consumer<ModelBlock> FROZEN_WEIGHT = block -> {
        Tensor weight = ModuleTensors.parameters(block.module()).get("weight");
        if (weight != null) {
            weight.set_requires_grad(false);
        }
    };

    private ShardedTraining() {}

    /** The training of one rank. Returns its parameters. */
    @FunctionalInterface
    public interface Trainer {
        Map<String, float[]> train(World world);
    }

    /** The parameters of each rank, on a deterministic group. */
    public static List<Map<String, float[]>> run(int ranks, Trainer trainer) {
        return run(LocalWorldOptions.ofSize(ranks).withDeterministic(true), trainer);
    }

    /** The parameters of each rank of a world. */
    public static List<Map<String, float[]>> run(LocalWorldOptions options, Trainer trainer) {
        Libtorch.setThreads(1);
        AtomicReferenceArray<Map<String, float[]>> results = new AtomicReferenceArray<>(options.size());
        LocalWorld.run(options, world -> results.set(world.rank(), trainer.train(world)));
        return IntStream.range(0, options.size()).mapToObj(results::get).toList();
    }

    /** The bits of all values by name: AssertJ's recursive comparison of floats has a tolerance. */
    public static Map<String, List<Integer>> bits(Map<String, float[]> values) {
        Map<String, List<Integer>> bits = new TreeMap<>();
        values.forEach((name, numbers) -> bits.put(
                name,
                IntStream.range(0, numbers.length)
                        .mapToObj(i -> Float.floatToRawIntBits(numbers[i]))
                        .toList()));
        return bits;
    }

    /** The samples of a pass: another seed for each rank and pass. */
    public static long seed(World world, int step, int pass) {
        return step * 100L + pass * 10L + world.rank();
    }

    private static FlatOptimizer optimizer(Map<String, ShardedTensor> parameters, PaddedGradients gradients) {
        return new FlatOptimizer(
                parameters,
                FusedAdamW.DEFAULT,
                ParameterGroup.decayMatrices(0.1),
                LearningRateSchedule.constant(0.05),
                gradients);
    }

    public static Map<String, float[]> ddp(World world, int passes) {
        UnevenNet net = new UnevenNet();
        try (var model = new DistributedDataParallel<>(net, world.group(), BUCKETS);
                FlatOptimizer optimizer = optimizer(Parameters.of(net), model.gradientMemory())) {
            for (int step = 0; step < STEPS; step++) {
                try (var scope = model.step()) {
                    optimizer.zeroGradients();
                    for (int pass = 1; pass < passes; pass++) {
                        try (var _ = model.noSync()) {
                            scope.backward(net.loss(seed(world, step, pass), 3));
                        }
                    }
                    scope.backward(net.loss(seed(world, step, 0), 3));
                    optimizer.step();
                }
            }
            return values(ModuleTensors.parameters(net));
        }
    }

    public static Map<String, float[]> fsdp(World world, FsdpOptions options, Consumer<ModelBlock> inner, int passes) {
        return fsdp(world, new FullyShardedDataParallel(new MeshAxis("shard", world.group()), options), inner, passes);
    }

    public static Map<String, float[]> fsdp(
            World world, FullyShardedDataParallel fsdp, Consumer<ModelBlock> inner, int passes) {
        UnevenNet net = new UnevenNet(inner.andThen(block -> FullyShard.apply(block, fsdp)));
        FullyShard.apply(net, fsdp);
        return train(world, net, fsdp, passes);
    }

    /** Shards a built module that names no blocks. */
    public static Map<String, float[]> wholeModule(World world) {
        UnevenNet net = new UnevenNet();
        return train(world, net, FullyShard.apply(net, new MeshAxis("shard", world.group())), 1);
    }

    private static Map<String, float[]> train(World world, UnevenNet net, FullyShardedDataParallel fsdp, int passes) {
        try (FlatOptimizer optimizer = optimizer(fsdp.parameters(), fsdp.gradientMemory())) {
            for (int step = 0; step < STEPS; step++) {
                try (var scope = fsdp.step()) {
                    optimizer.zeroGradients();
                    for (int pass = 1; pass < passes; pass++) {
                        try (var _ = fsdp.noSync()) {
                            scope.backward(net.loss(seed(world, step, pass), 3));
                        }
                    }
                    scope.backward(net.loss(seed(world, step, 0), 3));
                    optimizer.step();
                }
            }
            return fsdp.wholeParameters((_, whole) -> values(whole));
        }
    }

    /**
     * As {@link #fsdp(World, FsdpOptions, Consumer, int)}, with states in files below {@code folder}, up to step
     * {@code steps}.
     */
    public static Map<String, float[]> offloaded(World world, Path folder, int steps) {
        return offloaded(world, folder, steps, _ -> {});
    }

    /** As {@link #offloaded(World, Path, int)}, with code inside of the units. */
    public static Map<String, float[]> offloaded(World world, Path folder, int steps, Consumer<ModelBlock> inner) {
        return offloaded(world, folder, inner, (net, fsdp, optimizer) -> {
            for (int step = (int) optimizer.steps(); step < steps; step++) {
                try (var scope = fsdp.step()) {
                    scope.backward(net.loss(seed(world, step, 0), 3));
                    optimizer.step();
                }
                System.out.println("rank " + world.rank() + " made step " + optimizer.steps());
            }
        });
    }

    /** The steps of a training with states in files. */
    public interface OffloadedSteps {
        void run(UnevenNet net, FullyShardedDataParallel fsdp, OffloadedOptimizer optimizer);
    }

    /** Trains with states in files below {@code folder} by other steps. */
    public static Map<String, float[]> offloaded(
            World world, Path folder, Consumer<ModelBlock> inner, OffloadedSteps steps) {
        try (OffloadedOptimizer optimizer = new OffloadedOptimizer(
                folder.resolve("rank-" + world.rank()),
                world.group(),
                FusedAdamW.DEFAULT,
                ParameterGroup.decayMatrices(0.1),
                LearningRateSchedule.constant(0.05))) {
            var fsdp =
                    new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT, optimizer);
            UnevenNet net = new UnevenNet(inner.andThen(block -> FullyShard.apply(block, fsdp)));
            FullyShard.apply(net, fsdp);
            steps.run(net, fsdp, optimizer);
            return fsdp.wholeParameters((_, whole) -> values(whole));
        }
    }

    public static Map<String, float[]> zeroOne(World world) {
        UnevenNet net = new UnevenNet();
        try (var model = new DistributedDataParallel<>(
                        net, world.group(), BUCKETS.withPlacement(GradientPlacement.SHARDED_STATES));
                ZeroOptimizer optimizer = ZeroOptimizer.of(
                        model.reducer(),
                        FusedAdamW.DEFAULT,
                        ParameterGroup.decayMatrices(0.1),
                        LearningRateSchedule.constant(0.05))) {
            for (int step = 0; step < STEPS; step++) {
                try (var scope = model.step()) {
                    net.zero_grad(true);
                    scope.backward(net.loss(seed(world, step, 0), 3));
                    optimizer.step();
                }
            }
            return values(ModuleTensors.parameters(net));
        }
    }

    public static Map<String, float[]> zeroTwo(World world) {
        UnevenNet net = new UnevenNet();
        try (var model = new DistributedDataParallel<>(
                        net, world.group(), BUCKETS.withPlacement(GradientPlacement.SHARDED_GRADIENTS));
                ZeroOptimizer optimizer = ZeroOptimizer.of(
                        model.reducer(),
                        FusedAdamW.DEFAULT,
                        ParameterGroup.decayMatrices(0.1),
                        LearningRateSchedule.constant(0.05))) {
            for (int step = 0; step < STEPS; step++) {
                try (var scope = model.step()) {
                    optimizer.zeroGradients();
                    scope.backward(net.loss(seed(world, step, 0), 3));
                    optimizer.step();
                }
            }
            return values(ModuleTensors.parameters(net));
        }
    }

    public static Map<String, float[]> values(Map<String, Tensor> tensors) {
        Map<String, float[]> values = new TreeMap<>();
        tensors.forEach((name, tensor) -> values.put(name, values(tensor)));
        return values;
    }

    private static float[] values(Tensor tensor) {
        return TensorMemory.segment(DeviceWaits.onHost(tensor.detach().contiguous()))
                .toArray(ValueLayout.JAVA_FLOAT);
    }
}
