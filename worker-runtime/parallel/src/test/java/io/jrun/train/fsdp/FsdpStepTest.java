package io.jrun.train.fsdp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.ShardedTraining;
import io.jrun.train.UnevenNet;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.LibtorchOptimizer;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.ParameterOptimizer;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.EmbeddingOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The operations that are allowed outside of steps. */
class FsdpStepTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @Test
    void aUnitThatComputesOutsideAStepSaysWhatToDo() {
        LocalWorld.run(2, world -> {
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            UnevenNet net = new UnevenNet(block -> FullyShard.apply(block, fsdp));
            FullyShard.apply(net, fsdp);
            ModelBlock layer = new ModelBlock("layer", 0, new LinearImpl(4, 4), x -> x);
            FullyShard.apply(layer, fsdp);
            for (int i = 0; i < 2; i++) { // before the first step, and after it
                assertThatThrownBy(() -> net.loss(1, 3))
                        .hasMessageContaining("[table.weight] is not gathered")
                        .hasMessageContaining("fsdp.step()");
                assertThatIllegalStateException()
                        .isThrownBy(() -> layer.forward(torch.ones(1, 4)))
                        .withMessageContaining("unit 'layer' computes outside a step")
                        .withMessageContaining("fsdp.step()");
                try (var step = fsdp.step()) {
                    step.backward(net.loss(ShardedTraining.seed(world, 0, 0), 3));
                    assertThatIllegalStateException().isThrownBy(fsdp::step).withMessageContaining("a step is open");
                    assertThatIllegalStateException()
                            .isThrownBy(() -> fsdp.wholeParameters((_, whole) -> whole))
                            .withMessageContaining("a step is open");
                }
            }
        });
    }

    @Test
    void aModelWhoseBlocksAloneAreShardedIsRefused() {
        LocalWorld.run(2, world -> {
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            UnevenNet net = new UnevenNet(block -> FullyShard.apply(block, fsdp));
            assertThatIllegalStateException()
                    .isThrownBy(fsdp::step)
                    .withMessageContaining("FullyShard was applied to 3 blocks, but not to their model")
                    .withMessageContaining("FullyShard.apply(model, sharding)");
            FullyShard.apply(net, fsdp);
            FullyShard.apply(net, fsdp); // has nothing left to do
            assertThatThrownBy(() -> new UnevenNet(block -> FullyShard.apply(block, fsdp)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("two parameters with the name 'block0.");
            assertThatThrownBy(() -> FullyShard.apply(new LinearImpl(4, 4), fsdp))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("FullyShard.apply has a second model: its parameter 'weight'");
            try (var step = fsdp.step()) {
                step.backward(net.loss(ShardedTraining.seed(world, 0, 0), 3));
            }
        });
    }

    @Test
    void aShardedModelIsNoModelOfReplicas() {
        LocalWorld.run(2, world -> {
            LinearImpl linear = new LinearImpl(4, 4);
            FullyShardedDataParallel _ = FullyShard.apply(linear, new MeshAxis("shard", world.group()));
            assertThatThrownBy(() -> new DistributedDataParallel<>(linear, world.group()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith(
                            "the gradient of parameter 'weight' is reduced by FullyShard or ZeRO already")
                    .hasMessageContaining("fsdp.step()");
        });
    }

    /** Memory that is free must not be read: the process would end. */
    @Test
    void parametersThatAreNotGatheredCannotBeRead() {
        LocalWorld.run(2, world -> {
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            UnevenNet net = new UnevenNet(block -> FullyShard.apply(block, fsdp));
            FullyShard.apply(net, fsdp);
            Map<String, Tensor> parameters = ModuleTensors.parameters(net);
            for (int i = 0; i < 2; i++) {
                parameters.forEach(FsdpStepTest::assertUnreadable);
                try (var step = fsdp.step()) {
                    Tensor loss = net.loss(ShardedTraining.seed(world, i, 0), 3);
                    parameters.forEach((name, parameter) -> {
                        if (name.startsWith("block")) {
                            assertUnreadable(name, parameter);
                        } else {
                            assertThat(parameter.sum().item_float()).isFinite();
                        }
                    });
                    step.backward(loss);
                }
            }
        });
    }

    private static void assertUnreadable(String name, Tensor parameter) {
        try (PointerScope _ = new PointerScope()) {
            assertThatThrownBy(() -> parameter.sum().item_float())
                    .hasMessageContaining(name)
                    .hasMessageContaining("is not gathered");
        }
    }

    /** Two ranks share a bias of 7 elements as 4 and 3, and 5 as 3 and 2; each part has a cache line. */
    @Test
    void frozenParametersHaveNoGradientMemoryAndSendNothing() {
        LocalWorld.run(2, world -> {
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            UnevenNet net =
                    new UnevenNet(ShardedTraining.FROZEN_WEIGHT.andThen(block -> FullyShard.apply(block, fsdp)));
            Objects.requireNonNull(ModuleTensors.parameters(net).get("table.weight"))
                    .set_requires_grad(false);
            FullyShard.apply(net, fsdp);
            assertThat(fsdp.units()).contains("root");
            try (var step = fsdp.step()) {
                step.backward(net.loss(ShardedTraining.seed(world, 0, 0), 3));
                assertThat(fsdp.spans())
                        .filteredOn(span -> span.kind() == CommunicationSpan.Kind.REDUCE)
                        .extracting(CommunicationSpan::bytes)
                        .containsExactlyInAnyOrder(4L * 7, 4L * 5, 4L);
                assertThat(fsdp.gradientMemory().segments().stream().mapToLong(MemorySegment::byteSize))
                        .containsExactlyElementsOf(world.rank() == 0 ? List.of(64L, 64L, 64L) : List.of(64L, 64L));
            }
        });
    }

    /** The memory of a reduction has the numbers of an earlier one. */
    @Test
    void parametersThatNoPassUsesHaveGradientsOfZeroInEachStep() {
        LocalWorld.run(2, world -> {
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            LinearImpl linear = new LinearImpl(4, 4);
            ModelBlock layer = new ModelBlock("layer", 0, linear, x -> x.matmul(linear.weight()));
            FullyShard.apply(layer, fsdp);
            FullyShard.apply(linear, fsdp);
            ShardedTensor bias = Objects.requireNonNull(fsdp.parameters().get("layer.bias"));
            for (int i = 0; i < 3; i++) {
                try (var step = fsdp.step()) {
                    step.backward(layer.forward(torch.ones(2, 4)).sum());
                    assertThat(bias.gradient().abs().sum().item_float()).isZero();
                }
            }
        });
    }

    @Test
    void aStepThatIsClosedComputesNoGradients() {
        LocalWorld.run(1, world -> {
            var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            FullyShard.apply(new LinearImpl(1, 1), fsdp);
            Step step = fsdp.step();
            step.close();
            try (PointerScope _ = new PointerScope()) {
                assertThatIllegalStateException()
                        .isThrownBy(() -> step.backward(torch.ones(1)))
                        .withMessageContaining("a backward pass runs outside a step");
            }
        });
    }

    /** The outer parameters are frozen, so an update changes the units alone. */
    private static UnevenNet blocksOnly(FullyShardedDataParallel fsdp) {
        UnevenNet net = new UnevenNet(block -> FullyShard.apply(block, fsdp));
        Objects.requireNonNull(ModuleTensors.parameters(net).get("table.weight"))
                .set_requires_grad(false);
        FullyShard.apply(net, fsdp);
        return net;
    }

    private static FlatOptimizer optimizer(FullyShardedDataParallel fsdp) {
        return new FlatOptimizer(
                fsdp.parameters(), FusedSgd.PLAIN, ParameterGroup.all(0), LearningRateSchedule.constant(0.5));
    }

    /** The step gathers the first unit when it opens. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aUnitThatWasGatheredBeforeAnUpdateIsRefused(boolean isOfLibtorch) {
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
                    UnevenNet net = blocksOnly(fsdp);
                    try (ParameterOptimizer optimizer = isOfLibtorch
                            ? new LibtorchOptimizer(
                                    fsdp.parameters(), FusedSgd.PLAIN, 0, LearningRateSchedule.constant(0.5))
                            : optimizer(fsdp)) {
                        try (var step = fsdp.step()) {
                            step.backward(net.loss(ShardedTraining.seed(world, 0, 0), 3));
                        }
                        try (var _ = fsdp.step()) {
                            optimizer.step();
                            Tensor _ = net.loss(ShardedTraining.seed(world, 0, 0), 3);
                        }
                    }
                }))
                .hasStackTraceContaining("the parameters have changed since the step gathered unit 'block0'")
                .hasStackTraceContaining("Open a step after each change");
    }

    /** No code of jrun runs before the forward pass of a module without blocks. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aModuleWithoutBlocksIsUnreadableBehindAnUpdate(boolean isOfLibtorch) {
        LocalWorld.run(2, world -> {
            LinearImpl net = new LinearImpl(4, 4);
            Tensor x = torch.ones(2, 4);
            var fsdp = FullyShard.apply(net, new MeshAxis("shard", world.group()));
            try (ParameterOptimizer optimizer = isOfLibtorch
                            ? new LibtorchOptimizer(fsdp.parameters(), FusedSgd.PLAIN, 0, _ -> 0.5)
                            : optimizer(fsdp);
                    NoGradGuard _ = new NoGradGuard()) {
                double before;
                try (var step = fsdp.step()) {
                    try (AutoGradMode _ = new AutoGradMode(true)) {
                        step.backward(net.forward(x).sum());
                    }
                    before = net.forward(x).sum().item_double();
                    optimizer.step();
                    assertThatThrownBy(() -> net.forward(x)).hasMessageContaining("Open a step after each update");
                }
                try (var _ = fsdp.step()) {
                    assertThat(net.forward(x).sum().item_double()).isNotEqualTo(before);
                }
            }
        });
    }

    /** The backward pass gathers new values, and the graph has outputs of old ones. */
    @Test
    void aBackwardPassWhoseForwardPassHadOtherValuesIsRefused() {
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
                    UnevenNet net = blocksOnly(fsdp);
                    try (FlatOptimizer optimizer = optimizer(fsdp);
                            var step = fsdp.step()) {
                        Tensor before = net.loss(ShardedTraining.seed(world, 0, 1), 3);
                        step.backward(net.loss(ShardedTraining.seed(world, 0, 0), 3));
                        optimizer.step();
                        step.backward(before);
                    }
                }))
                .hasStackTraceContaining("the parameters have changed since the step gathered unit 'block2'");
    }

    /** Block 0 gets an input that needs no gradient, so no code runs behind its backward pass. */
    @ParameterizedTest
    @CsvSource({"true, false", "false, false", "true, true", "false, true"})
    void trainingPassesBehindUpdatesOfOneStepAreThoseOfSeveralSteps(boolean inOneStep, boolean withOpenPass) {
        LocalWorld.run(
                2,
                world -> assertThat(trained(world, inOneStep, withOpenPass))
                        .isEqualTo(trained(world, false, false))
                        .isNotEmpty());
    }

    private static Map<String, Double> trained(World world, boolean inOneStep, boolean withOpenPass) {
        var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
        UnevenNet net = blocksOnly(fsdp);
        try (FlatOptimizer optimizer = optimizer(fsdp)) {
            Step step = fsdp.step();
            for (int i = 0; i < 3; i++) {
                if (withOpenPass) {
                    Tensor _ = net.loss(ShardedTraining.seed(world, 7, 0), 3);
                }
                optimizer.zeroGradients();
                step.backward(net.loss(ShardedTraining.seed(world, i, 0), 3));
                optimizer.step();
                if (!inOneStep) {
                    step.close();
                    step = fsdp.step();
                }
            }
            step.close();
        }
        return fsdp.wholeParameters((_, whole) -> whole.abs().sum().item_double());
    }

    @ParameterizedTest
    @ValueSource(ints = {FsdpOptions.RESHARD, FsdpOptions.KEEP, 2})
    void anEvaluationBehindAnUpdateHasTheNewValuesOfUnits(int reshardAfterForward) {
        LocalWorld.run(4, world -> {
            var fsdp = new FullyShardedDataParallel(
                    new MeshAxis("shard", world.group()),
                    FsdpOptions.DEFAULT.withReshardAfterForward(reshardAfterForward));
            UnevenNet net = blocksOnly(fsdp);
            List<Double> losses = new ArrayList<>();
            try (FlatOptimizer optimizer = optimizer(fsdp);
                    NoGradGuard _ = new NoGradGuard()) {
                try (var step = fsdp.step()) {
                    try (AutoGradMode _ = new AutoGradMode(true)) {
                        step.backward(net.loss(ShardedTraining.seed(world, 0, 0), 3));
                    }
                    losses.add(net.loss(3, 3).item_double());
                    optimizer.step();
                    losses.add(net.loss(3, 3).item_double());
                }
                try (var _ = fsdp.step()) {
                    losses.add(net.loss(3, 3).item_double());
                }
            }
            assertThat(losses.get(1)).isEqualTo(losses.get(2)).isNotEqualTo(losses.get(0));
        });
    }

    @Test
    void aLossOfSeveralElementsIsRefusedAndTheNextPassRuns() {
        LocalWorld.run(2, world -> {
            LinearImpl linear = new LinearImpl(4, 4);
            FullyShardedDataParallel fsdp = FullyShard.apply(linear, new MeshAxis("shard", world.group()));
            try (var step = fsdp.step()) {
                Tensor outputs = linear.forward(torch.ones(2, 4));
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> step.backward(outputs))
                        .withMessage("step.backward needs a loss of one element, not a tensor of shape [2, 4]. Take its"
                                + " mean or its sum.");
                step.backward(outputs.sum());
                assertThat(Objects.requireNonNull(fsdp.parameters().get("bias"))
                                .gradient()
                                .sum()
                                .item_double())
                        .isPositive();
            }
        });
    }

    /** {@code max_norm} writes to the gathered rows, which are freed. */
    @Test
    void aForwardPassThatChangesAParameterIsRefused() {
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    EmbeddingOptions options = new EmbeddingOptions(8, 4);
                    options.max_norm().put(0.5);
                    EmbeddingImpl table = new EmbeddingImpl(options);
                    var fsdp = FullyShard.apply(table, new MeshAxis("shard", world.group()));
                    try (var step = fsdp.step()) {
                        step.backward(table.forward(torch.zeros(2).to(torch.ScalarType.Long))
                                .sum());
                    }
                }))
                .hasStackTraceContaining("the program has changed parameter 'weight' of unit 'root' in place")
                .hasStackTraceContaining("leave max_norm out");
    }

    @ParameterizedTest
    @EnumSource
    void aSparseGradientIsRefusedWithItsName(Wrapper wrapper) {
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    EmbeddingOptions options = new EmbeddingOptions(8, 4);
                    options.sparse().put(true);
                    EmbeddingImpl table = new EmbeddingImpl(options);
                    try (Step step = wrapper.step(table, world)) {
                        step.backward(table.forward(torch.zeros(2).to(torch.ScalarType.Long))
                                .sum());
                    }
                }))
                .hasStackTraceContaining("the gradient of parameter 'weight' is sparse");
    }

    enum Wrapper {
        DDP,
        ZERO,
        FSDP;

        Step step(EmbeddingImpl table, World world) {
            return switch (this) {
                case DDP -> new DistributedDataParallel<>(table, world.group()).step();
                case ZERO ->
                    new DistributedDataParallel<>(
                                    table,
                                    world.group(),
                                    DdpOptions.DEFAULT.withPlacement(GradientPlacement.SHARDED_GRADIENTS))
                            .step();
                case FSDP ->
                    FullyShard.apply(table, new MeshAxis("shard", world.group()))
                            .step();
            };
        }
    }
}
