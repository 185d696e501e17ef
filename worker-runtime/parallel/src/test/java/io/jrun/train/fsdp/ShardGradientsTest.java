package io.jrun.train.fsdp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.ShardedTraining;
import io.jrun.train.UnevenNet;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.LibtorchOptimizer;
import io.jrun.train.optim.PaddedGradients;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.ParameterOptimizer;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.BiFunction;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The memory of the gradients of shards, which is free from the end of a step to the next backward pass. */
class ShardGradientsTest {
    private static final int STEPS = 5;
    /** The gradients of step 1 are kept, and those of step 2 are added to them. */
    private static final int ADDING_STEP = 2;
    /** Less than the norm of each step. */
    private static final double LIMIT = 0.01;

    private static final LearningRateSchedule SCHEDULE = LearningRateSchedule.constant(0.05);

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** A fully sharded net, whose blocks note the bytes of gradients when they compute. */
    private static final class Sharded {
        private final FullyShardedDataParallel fsdp;
        private final UnevenNet net;
        private final List<Long> inForward = new ArrayList<>();

        Sharded(World world) {
            fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            net = new UnevenNet(block -> {
                block.surround(forward -> x -> {
                    inForward.add(bytes());
                    return forward.apply(x);
                });
                FullyShard.apply(block, fsdp);
            });
            FullyShard.apply(net, fsdp);
        }

        /** The bytes of gradients of all units that are in memory now. */
        long bytes() {
            return fsdp.gradientMemory().segments().stream()
                    .mapToLong(MemorySegment::byteSize)
                    .sum();
        }

        /** The bytes of all gradients, each on cache lines of its own. */
        long allBytes() {
            return fsdp.parameters().values().stream()
                    .mapToLong(shard -> Math.ceilDiv(shard.local().nbytes(), 64L) * 64)
                    .sum();
        }

        FlatOptimizer flat(Map<String, ShardedTensor> parameters, PaddedGradients memory) {
            return new FlatOptimizer(
                    parameters, FusedAdamW.DEFAULT, ParameterGroup.decayMatrices(0.1), SCHEDULE, memory);
        }
    }

    private static void assertFreeInForwardPasses(BiFunction<Sharded, World, ParameterOptimizer> made) {
        LocalWorld.run(2, world -> {
            Sharded sharded = new Sharded(world);
            try (ParameterOptimizer optimizer = made.apply(sharded, world)) {
                for (int i = 0; i < 3; i++) {
                    try (var step = sharded.fsdp.step()) {
                        optimizer.zeroGradients();
                        step.backward(sharded.net.loss(ShardedTraining.seed(world, i, 0), 3));
                        assertThat(sharded.bytes()).isEqualTo(sharded.allBytes());
                        optimizer.step();
                    }
                }
            }
            assertThat(sharded.inForward).hasSize(9).containsOnly(0L);
        });
    }

    @Test
    void theFlatOptimizerFreesGradientsBeforeTheNextForwardPass() {
        assertFreeInForwardPasses(
                (sharded, _) -> sharded.fsdp.optimizer(FusedAdamW.DEFAULT, ParameterGroup.all(0.1), SCHEDULE));
    }

    @Test
    void anOptimizerOfLibtorchFreesGradientsBeforeTheNextForwardPass() {
        assertFreeInForwardPasses(
                (sharded, _) -> new LibtorchOptimizer(sharded.fsdp.parameters(), FusedAdamW.DEFAULT, 0.1, SCHEDULE));
    }

    @Test
    void zeroGradientsFreesTheMemoryAtOnce() {
        LocalWorld.run(2, world -> {
            Sharded sharded = new Sharded(world);
            assertThat(sharded.bytes()).isZero();
            try (FlatOptimizer optimizer = sharded.flat(sharded.fsdp.parameters(), sharded.fsdp.gradientMemory());
                    var step = sharded.fsdp.step()) {
                for (int i = 0; i < 3; i++) {
                    try (var _ = sharded.fsdp.noSync()) {
                        step.backward(sharded.net.loss(ShardedTraining.seed(world, i, 1), 3));
                    }
                    assertThat(sharded.bytes()).as("before the reduction").isZero();
                    step.backward(sharded.net.loss(ShardedTraining.seed(world, i, 0), 3));
                    assertThat(sharded.bytes()).isEqualTo(sharded.allBytes());
                    optimizer.zeroGradients();
                    assertThat(sharded.bytes()).isZero();
                    assertThat(sharded.fsdp.parameters().values())
                            .noneMatch(shard -> shard.local().mutable_grad().defined());
                }
            }
        });
    }

    /** The optimizer keeps the gradients in memory of its own, so that the memory of the units has no use. */
    @Test
    void gradientsThatTheOptimizerHasMovedLeaveNoMemoryBehind() {
        LocalWorld.run(2, world -> {
            Sharded sharded = new Sharded(world);
            try (FlatOptimizer optimizer = sharded.flat(sharded.fsdp.parameters(), PaddedGradients.NONE)) {
                for (int i = 0; i < 2; i++) {
                    try (var step = sharded.fsdp.step()) {
                        step.backward(sharded.net.loss(ShardedTraining.seed(world, i, 0), 3));
                        assertThat(sharded.bytes()).isEqualTo(i == 0 ? sharded.allBytes() : 0);
                        optimizer.step();
                        optimizer.zeroGradients();
                    }
                }
            }
            assertThat(sharded.inForward).containsOnly(0L);
        });
    }

    /** Weight decay would change a parameter that has a gradient of zeros. */
    @Test
    void aUnitThatNoPassOfAStepUsesDoesNotChange() {
        LocalWorld.run(2, world -> {
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            LinearImpl first = new LinearImpl(4, 4);
            LinearImpl second = new LinearImpl(4, 4);
            ModelBlock always = new ModelBlock("always", 0, first, first::forward);
            ModelBlock once = new ModelBlock("once", 1, second, second::forward);
            FullyShard.apply(always, fsdp);
            FullyShard.apply(once, fsdp);
            FullyShard.apply(second, fsdp);
            try (FlatOptimizer optimizer = new FlatOptimizer(
                    fsdp.parameters(), FusedAdamW.DEFAULT, ParameterGroup.all(0.1), SCHEDULE, fsdp.gradientMemory())) {
                try (var step = fsdp.step()) {
                    step.backward(once.forward(always.forward(torch.ones(2, 4))).sum());
                    optimizer.step();
                    optimizer.zeroGradients();
                }
                Map<String, float[]> before = fsdp.wholeParameters((_, whole) -> values(whole));
                try (var step = fsdp.step()) {
                    step.backward(always.forward(torch.ones(2, 4)).sum());
                    optimizer.step();
                }
                Map<String, float[]> after = fsdp.wholeParameters((_, whole) -> values(whole));
                assertThat(after.get("once.weight")).isEqualTo(before.get("once.weight"));
                assertThat(after.get("always.weight")).isNotEqualTo(before.get("always.weight"));
            }
        });
    }

    /** An optimizer of some parameters leaves the gradients of the others. */
    @Test
    void theMemoryOfAUnitStaysWhileOneOfItsGradientsIsUsed() {
        LocalWorld.run(1, world -> {
            Sharded sharded = new Sharded(world);
            Map<String, ShardedTensor> biases = new LinkedHashMap<>(sharded.fsdp.parameters());
            biases.keySet().removeIf(name -> !name.endsWith(".bias"));
            Map<String, ShardedTensor> others = new LinkedHashMap<>(sharded.fsdp.parameters());
            others.keySet().removeAll(biases.keySet());
            try (FlatOptimizer ofBiases = sharded.flat(biases, sharded.fsdp.gradientMemory());
                    FlatOptimizer ofOthers = sharded.flat(others, sharded.fsdp.gradientMemory());
                    var step = sharded.fsdp.step()) {
                step.backward(sharded.net.loss(3, 3));
                double norm = Gradients.norm(others.values()).value();
                ofBiases.zeroGradients();
                assertThat(sharded.bytes()).isEqualTo(sharded.allBytes());
                assertThat(Gradients.norm(biases.values()).value()).isZero();
                assertThat(Gradients.norm(others.values()).value()).isEqualTo(norm);
                ofOthers.zeroGradients();
                assertThat(sharded.bytes()).isZero();
            }
        });
    }

    /** Memory that is free must not be read: the process would end. */
    @Test
    void aDroppedGradientCannotBeRead() {
        LocalWorld.run(1, world -> {
            Sharded sharded = new Sharded(world);
            try (FlatOptimizer optimizer = sharded.flat(sharded.fsdp.parameters(), sharded.fsdp.gradientMemory());
                    var step = sharded.fsdp.step()) {
                step.backward(sharded.net.loss(3, 3));
                List<Tensor> gradients = sharded.fsdp.parameters().values().stream()
                        .map(shard -> TensorMemory.own(shard.gradient()))
                        .toList();
                optimizer.zeroGradients();
                try (PointerScope _ = new PointerScope()) {
                    assertThat(gradients)
                            .isNotEmpty()
                            .allSatisfy(gradient -> assertThatThrownBy(
                                            () -> gradient.sum().item_float())
                                    .hasMessageContaining("the gradient was dropped")
                                    .hasMessageContaining("before zeroGradients()"));
                }
            }
        });
    }

    /** Two passes in each step, clipped gradients, and one step that adds to the gradients of the step before. */
    @Test
    void theBitsAreThoseOfDdpWhenGradientsAreFreed() {
        ConcurrentMap<Integer, Double> factors = new ConcurrentHashMap<>();
        List<Map<String, float[]>> found = ShardedTraining.run(3, world -> fsdp(world, factors));
        Map<String, float[]> expected =
                ShardedTraining.run(3, world -> ddp(world, factors)).getFirst();
        assertThat(factors.values()).hasSize(STEPS).allMatch(factor -> factor < 1);
        assertThat(found)
                .allSatisfy(rank -> assertThat(ShardedTraining.bits(rank)).isEqualTo(ShardedTraining.bits(expected)));
    }

    private static Map<String, float[]> fsdp(World world, ConcurrentMap<Integer, Double> factors) {
        Sharded sharded = new Sharded(world);
        try (FlatOptimizer optimizer = sharded.flat(sharded.fsdp.parameters(), sharded.fsdp.gradientMemory())) {
            for (int i = 0; i < STEPS; i++) {
                if (i != ADDING_STEP) {
                    optimizer.zeroGradients();
                }
                try (var step = sharded.fsdp.step()) {
                    try (var _ = sharded.fsdp.noSync()) {
                        step.backward(sharded.net.loss(ShardedTraining.seed(world, i, 1), 3));
                    }
                    step.backward(sharded.net.loss(ShardedTraining.seed(world, i, 0), 3));
                    double norm = Gradients.clip(sharded.fsdp.parameters().values(), LIMIT)
                            .value();
                    factors.put(i, LIMIT / (norm + 1e-6));
                    optimizer.step();
                }
            }
            return sharded.fsdp.wholeParameters((_, whole) -> values(whole));
        }
    }

    /** DDP adds a pass to gradients before the mean. This adds the gradients of the step before to the mean, as FSDP. */
    private static Map<String, float[]> ddp(World world, ConcurrentMap<Integer, Double> factors) {
        UnevenNet net = new UnevenNet();
        Map<String, Tensor> parameters = ModuleTensors.parameters(net);
        try (var model = new DistributedDataParallel<>(net, world.group(), ShardedTraining.BUCKETS);
                FlatOptimizer optimizer = new FlatOptimizer(
                        Parameters.of(net),
                        FusedAdamW.DEFAULT,
                        ParameterGroup.decayMatrices(0.1),
                        SCHEDULE,
                        model.gradientMemory())) {
            for (int i = 0; i < STEPS; i++) {
                try (PointerScope _ = new PointerScope();
                        var step = model.step()) {
                    Map<String, Tensor> before = new TreeMap<>();
                    if (i == ADDING_STEP) {
                        parameters.forEach(
                                (name, tensor) -> before.put(name, tensor.grad().clone()));
                    }
                    optimizer.zeroGradients();
                    try (var _ = model.noSync()) {
                        step.backward(net.loss(ShardedTraining.seed(world, i, 1), 3));
                    }
                    step.backward(net.loss(ShardedTraining.seed(world, i, 0), 3));
                    try (NoGradGuard _ = new NoGradGuard()) {
                        before.forEach((name, gradient) -> Objects.requireNonNull(parameters.get(name))
                                .mutable_grad()
                                .add_(gradient));
                        Scalar factor = new Scalar(factors.getOrDefault(i, 1.0));
                        parameters
                                .values()
                                .forEach(tensor -> tensor.mutable_grad().mul_(factor));
                    }
                    optimizer.step();
                }
            }
            Map<String, float[]> values = new TreeMap<>();
            parameters.forEach((name, tensor) -> values.put(name, values(tensor)));
            return values;
        }
    }

    private static float[] values(Tensor tensor) {
        return TensorMemory.segment(tensor.detach().contiguous()).toArray(ValueLayout.JAVA_FLOAT);
    }
}
