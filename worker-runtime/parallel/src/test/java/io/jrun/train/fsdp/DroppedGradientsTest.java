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
import io.jrun.train.offload.OffloadedOptimizer;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.LibtorchOptimizer;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.ParameterOptimizer;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A program drops gradients where torch's programs do, and then trains as with DistributedDataParallel. Some ranks have
 * no rows of some parameters.
 */
class DroppedGradientsTest {
    private static final int RANKS = 3;
    private static final int STEPS = 3;
    private static final LearningRateSchedule SCHEDULE = LearningRateSchedule.constant(0.05);

    @TempDir
    private Path folder;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    enum Kind {
        LIBTORCH,
        FLAT,
        FLAT_WITH_MEMORY,
        OFFLOADED
    }

    private record Training(
            World world, UnevenNet net, Supplier<Step> steps, Supplier<NoSync> noSync, ParameterOptimizer optimizer) {
        Tensor loss(int step, int pass) {
            return net.loss(ShardedTraining.seed(world, step, pass), 3);
        }

        /** A pass whose gradients the program drops afterwards. */
        void addWithoutReduction(Step step, int i) {
            try (var _ = noSync.get()) {
                step.backward(loss(i, 1));
            }
        }
    }

    private interface OneStep {
        void run(Training training, int number);
    }

    /** Steps that all train by the loss of pass 0 alone. */
    private static Map<String, OneStep> steps() {
        Map<String, OneStep> steps = new LinkedHashMap<>();
        steps.put("zero_grad before the step", (training, i) -> {
            training.net.zero_grad(true);
            try (Step step = training.steps.get()) {
                step.backward(training.loss(i, 0));
                training.optimizer.step();
            }
        });
        steps.put("zero_grad before the forward pass", (training, i) -> {
            try (Step step = training.steps.get()) {
                training.net.zero_grad(true);
                step.backward(training.loss(i, 0));
                training.optimizer.step();
            }
        });
        steps.put("zero_grad before the backward pass", (training, i) -> {
            try (Step step = training.steps.get()) {
                Tensor loss = training.loss(i, 0);
                training.net.zero_grad(true);
                step.backward(loss);
                training.optimizer.step();
            }
        });
        steps.put("zero_grad after the update", (training, i) -> {
            try (Step step = training.steps.get()) {
                step.backward(training.loss(i, 0));
                training.optimizer.step();
                training.net.zero_grad(true);
            }
        });
        steps.put("zero_grad between steps that add up", (training, i) -> {
            training.optimizer.zeroGradients();
            try (Step step = training.steps.get()) {
                step.backward(training.loss(i, 1));
            }
            training.net.zero_grad(true);
            try (Step step = training.steps.get()) {
                step.backward(training.loss(i, 0));
                training.optimizer.step();
            }
        });
        steps.put("zero_grad after passes with and without reduction", (training, i) -> {
            try (Step step = training.steps.get()) {
                training.optimizer.zeroGradients();
                step.backward(training.loss(i, 2));
                training.addWithoutReduction(step, i);
                training.net.zero_grad(true);
                step.backward(training.loss(i, 0));
                training.optimizer.step();
            }
        });
        steps.put("zeroGradients after a pass without reduction", (training, i) -> {
            try (Step step = training.steps.get()) {
                training.optimizer.zeroGradients();
                training.addWithoutReduction(step, i);
                training.optimizer.zeroGradients();
                step.backward(training.loss(i, 0));
                training.optimizer.step();
            }
        });
        steps.put("zeroGradients between steps after a pass without reduction", (training, i) -> {
            try (Step step = training.steps.get()) {
                training.addWithoutReduction(step, i);
            }
            training.optimizer.zeroGradients();
            try (Step step = training.steps.get()) {
                step.backward(training.loss(i, 0));
                training.optimizer.step();
            }
        });
        return steps;
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void droppedGradientsAddToNoUpdate(Kind kind) {
        Map<String, float[]> expected =
                ShardedTraining.run(RANKS, world -> ddp(world, kind)).getFirst();
        steps().forEach((name, each) -> ShardedTraining.run(RANKS, world -> fsdp(world, kind, name, each))
                .forEach(rank ->
                        assertThat(ShardedTraining.bits(rank)).as(name).isEqualTo(ShardedTraining.bits(expected))));
    }

    private static Map<String, float[]> ddp(World world, Kind kind) {
        UnevenNet net = new UnevenNet();
        try (var model = new DistributedDataParallel<>(net, world.group(), ShardedTraining.BUCKETS);
                ParameterOptimizer optimizer = kind == Kind.LIBTORCH
                        ? new LibtorchOptimizer(Parameters.of(net), FusedSgd.PLAIN, 0, SCHEDULE)
                        : new FlatOptimizer(
                                Parameters.of(net),
                                FusedSgd.PLAIN,
                                ParameterGroup.all(0),
                                SCHEDULE,
                                model.gradientMemory())) {
            for (int i = 0; i < STEPS; i++) {
                try (Step step = model.step()) {
                    optimizer.zeroGradients();
                    step.backward(net.loss(ShardedTraining.seed(world, i, 0), 3));
                    optimizer.step();
                }
            }
            Map<String, float[]> values = new TreeMap<>();
            ModuleTensors.parameters(net).forEach((name, tensor) -> values.put(name, values(tensor)));
            return values;
        }
    }

    private Map<String, float[]> fsdp(World world, Kind kind, String name, OneStep each) {
        MeshAxis axis = new MeshAxis("shard", world.group());
        if (kind == Kind.OFFLOADED) {
            OffloadedOptimizer offloaded = new OffloadedOptimizer(
                    folder.resolve(name + world.rank()),
                    world.group(),
                    FusedSgd.PLAIN,
                    ParameterGroup.all(0),
                    SCHEDULE);
            return train(
                    world, new FullyShardedDataParallel(axis, FsdpOptions.DEFAULT, offloaded), _ -> offloaded, each);
        }
        return train(
                world,
                new FullyShardedDataParallel(axis, FsdpOptions.DEFAULT),
                fsdp -> switch (kind) {
                    case LIBTORCH -> new LibtorchOptimizer(fsdp.parameters(), FusedSgd.PLAIN, 0, SCHEDULE);
                    case FLAT -> new FlatOptimizer(fsdp.parameters(), FusedSgd.PLAIN, ParameterGroup.all(0), SCHEDULE);
                    default ->
                        new FlatOptimizer(
                                fsdp.parameters(),
                                FusedSgd.PLAIN,
                                ParameterGroup.all(0),
                                SCHEDULE,
                                fsdp.gradientMemory());
                },
                each);
    }

    private static Map<String, float[]> train(
            World world,
            FullyShardedDataParallel fsdp,
            java.util.function.Function<FullyShardedDataParallel, ParameterOptimizer> made,
            OneStep each) {
        UnevenNet net = new UnevenNet(block -> FullyShard.apply(block, fsdp));
        FullyShard.apply(net, fsdp);
        try (ParameterOptimizer optimizer = made.apply(fsdp)) {
            for (int i = 0; i < STEPS; i++) {
                each.run(new Training(world, net, fsdp::step, fsdp::noSync, optimizer), i);
            }
            return new TreeMap<>(fsdp.wholeParameters((_, whole) -> values(whole)));
        }
    }

    private static float[] values(Tensor tensor) {
        return TensorMemory.segment(tensor.detach().contiguous()).toArray(ValueLayout.JAVA_FLOAT);
    }

    /** An error about one unit leaves all units as they were, so the next step gives the same error. */
    @Test
    void refusesToDropAPartOfAnOffloadedUnitBeforeAnyChange() {
        LocalWorld.run(2, world -> {
            OffloadedOptimizer optimizer = new OffloadedOptimizer(
                    folder.resolve("part" + world.rank()),
                    world.group(),
                    FusedSgd.PLAIN,
                    ParameterGroup.all(0),
                    SCHEDULE);
            FullyShardedDataParallel fsdp =
                    new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT, optimizer);
            UnevenNet net = new UnevenNet(block -> FullyShard.apply(block, fsdp));
            FullyShard.apply(net, fsdp);
            try (optimizer) {
                try (Step step = fsdp.step()) {
                    step.backward(net.loss(1, 3));
                }
                Map<String, Tensor> parameters = ModuleTensors.parameters(net);
                for (String name : List.of("block0.weight", "block0.bias", "block1.weight")) {
                    Objects.requireNonNull(parameters.get(name)).mutable_grad().reset();
                }
                for (int i = 0; i < 2; i++) {
                    assertThatThrownBy(fsdp::step)
                            .hasMessageContaining(
                                    "the gradients of some of the parameters [block1.weight, block1.bias]");
                    assertThat(optimizer.hasGradients(0)).isTrue();
                }
                net.zero_grad(true);
                try (Step _ = fsdp.step()) {
                    assertThat(optimizer.hasGradients(0)).isFalse();
                }
            }
        });
    }

    /** The libtorch optimizer would leave out parameters without a gradient, and train nothing. */
    @Test
    void gradientsOfTheModuleCannotBeUsedAtAnyTime() {
        LocalWorld.run(1, world -> {
            LinearImpl linear = new LinearImpl(4, 4);
            FullyShardedDataParallel fsdp = FullyShard.apply(linear, new MeshAxis("shard", world.group()));
            try (SGD optimizer = new SGD(linear.parameters(), new SGDOptions(0.1))) {
                try (Step step = fsdp.step()) {
                    step.backward(linear.forward(torch.ones(1, 4)).sum());
                }
                try (Step _ = fsdp.step()) {
                    assertThatThrownBy(optimizer::step)
                            .hasMessageContaining("Give the optimizer the tensors of FullyShardedDataParallel");
                    assertThatThrownBy(
                                    () -> linear.forward(torch.ones(1, 4)).sum().backward())
                            .hasMessageContaining("Call step.backward(loss) in place of loss.backward()");
                    assertThatThrownBy(() -> linear.zero_grad(false))
                            .hasMessageContaining("model.zero_grad(true), not zero_grad(false)");
                }
            }
        });
    }
}
