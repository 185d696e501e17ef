package io.jrun.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Device;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.checkpoint.ModelState;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.checkpoint.sharded.TrainState;
import io.jrun.train.context.ContextParallel;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.expert.ExpertParallel;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.layer.FeedForward;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.TextEmbedding;
import io.jrun.train.layer.TextHead;
import io.jrun.train.layer.TransformerBlock;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.model.InitialValues;
import io.jrun.train.model.LayeredModel;
import io.jrun.train.model.ModelSetup;
import io.jrun.train.model.TrainableModel;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.LibtorchOptimizer;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.ParameterOptimizer;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.train.tensorparallel.TensorParallel;
import io.jrun.train.weights.NameMapping;
import io.jrun.train.weights.WeightLoader;
import io.jrun.train.weights.WeightReaders;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.assertj.core.data.Offset;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls in a wrong order and missing calls are errors that say what to do. They do not give wrong numbers. */
class WrongOrderTest {
    private static final LearningRateSchedule SCHEDULE = LearningRateSchedule.constant(0.1);

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    /** A transformer of jrun's layers. */
    private static final class Small extends LayeredModel {
        Small() {
            super(new ModelSetup(16, 8, Device.CPU, 1));
            transformer(2);
            first("embedding", () -> new TextEmbedding(16, 8, 4, Device.CPU), TextEmbedding::forward);
            block(() -> new TransformerBlock(4, 2, 8, Device.CPU), TransformerBlock::forward);
            block(() -> new TransformerBlock(4, 2, 8, Device.CPU), TransformerBlock::forward);
            last("head", () -> new TextHead(4, 16, Device.CPU), TextHead::forward);
        }

        Tensor loss() {
            Tensor tokens = torch.ones(new long[] {2, 8}).to(torch.ScalarType.Long);
            return loss(tokens, tokens);
        }
    }

    private static FlatOptimizer flat(Map<String, ShardedTensor> parameters) {
        return new FlatOptimizer(parameters, FusedAdamW.DEFAULT, ParameterGroup.all(0), SCHEDULE);
    }

    private static LibtorchOptimizer libtorch(Map<String, ShardedTensor> parameters) {
        return new LibtorchOptimizer(parameters, FusedAdamW.DEFAULT, 0, SCHEDULE);
    }

    private static void assertRefused(Runnable call, String... words) {
        assertThatIllegalStateException()
                .isThrownBy(call::run)
                .satisfies(e -> assertThat(e.getMessage()).contains(words).doesNotContain("\n"));
    }

    /** The norm would be that of this rank's parts alone, and the checkpoint would have one part under the whole name. */
    @Test
    void parametersThatWereReadBeforeTheRanksSharedThemAreRefused() {
        LocalWorld.run(2, world -> {
            Small model = filled();
            Map<String, ShardedTensor> before = Parameters.of(model);
            try (FlatOptimizer flat = flat(before);
                    LibtorchOptimizer libtorch = libtorch(before)) {
                TensorParallel.apply(model, new MeshAxis("tp", world.group()), model.tensorParallelPlan());
                model.loss().backward();
                List<Runnable> uses = List.of(
                        () -> Gradients.clip(before.values(), 1.0),
                        () -> Gradients.norm(before.values()),
                        flat::step,
                        libtorch::step,
                        () -> new ShardedState(before).putParameters(new StateDict(), "model."));
                uses.forEach(use -> assertRefused(
                        use, ".weight' was read before the ranks of the axis 'tp' shared it", "Parameters.of(model)"));
            }
            assertThat(Gradients.norm(Parameters.of(model).values()).value()).isPositive();
            Small trained = filled();
            try (FlatOptimizer optimizer = flat(Parameters.of(trained))) {
                trained.loss().backward();
                optimizer.step();
                TensorParallel.apply(trained, new MeshAxis("tp", world.group()), trained.tensorParallelPlan());
                assertRefused(optimizer::step, "was read before the ranks of the axis 'tp' shared it");
            }
        });
    }

    /** The optimizer would update nothing: the rows of the ranks have the gradients. */
    @Test
    void anOptimizerOfTheParametersOfAShardedModuleIsRefused() {
        LocalWorld.run(2, world -> {
            UnevenNet net = new UnevenNet();
            try (FlatOptimizer flat = flat(Parameters.of(net));
                    LibtorchOptimizer libtorch = libtorch(Parameters.of(net))) {
                FullyShardedDataParallel sharded = FullyShard.apply(net, new MeshAxis("shard", world.group()));
                try (var step = sharded.step()) {
                    step.backward(net.loss(ShardedTraining.seed(world, 0, 0), 3));
                    List<Runnable> uses = List.of(
                            flat::step,
                            libtorch::step,
                            () -> flat(Parameters.of(net)),
                            () -> libtorch(Parameters.of(net)));
                    uses.forEach(use -> assertRefused(use, "is not in .grad", "FullyShardedDataParallel.parameters()"));
                }
            }
        });
    }

    /** The libtorch optimizers leave out a parameter that has no {@code .grad}, so they would train nothing. */
    @Test
    void anOptimizerOfLibtorchForTheParametersOfAShardedModuleIsRefused() {
        LocalWorld.run(2, world -> {
            UnevenNet net = new UnevenNet();
            FullyShardedDataParallel sharded = FullyShard.apply(net, new MeshAxis("shard", world.group()));
            String message = "Give the optimizer the tensors of FullyShardedDataParallel.parameters()";
            try (SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1));
                    FlatOptimizer rows = flat(sharded.parameters())) {
                for (int step = 0; step < 2; step++) {
                    try (var open = sharded.step()) {
                        try (var _ = sharded.noSync()) {
                            open.backward(net.loss(ShardedTraining.seed(world, step, 0), 3));
                        }
                        open.backward(net.loss(ShardedTraining.seed(world, step, 1), 3));
                        open.backward(net.loss(ShardedTraining.seed(world, step, 2), 3));
                        assertThatThrownBy(optimizer::step).hasMessageContaining(message);
                        rows.step();
                        rows.zeroGradients();
                    }
                    assertThatThrownBy(() -> torch.clip_grad_norm_(net.parameters(), 1.0))
                            .hasMessageContaining(message);
                }
                optimizer.zero_grad();
            }
        });
    }

    /** The parameters outside of all blocks are gathered once in a step, so a pass would mix old and new values. */
    @Test
    void aPassAfterAnUpdateOfTheSameStepIsRefused() {
        for (boolean isBackward : List.of(false, true)) {
            assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                        Small model = filled();
                        FullyShardedDataParallel sharded =
                                FullyShard.apply(model, new MeshAxis("shard", world.group()));
                        try (LibtorchOptimizer optimizer = libtorch(sharded.parameters());
                                var step = sharded.step()) {
                            Tensor before = model.loss();
                            step.backward(model.loss());
                            optimizer.step();
                            if (isBackward) {
                                step.backward(before);
                            } else {
                                Tensor _ = model.loss();
                            }
                        }
                    }))
                    .hasStackTraceContaining("the parameters have changed since the step gathered unit 'root'")
                    .hasStackTraceContaining("Open a step after each change");
        }
    }

    /** Each rank has the mean of its part of the gradients only. */
    @ParameterizedTest
    @EnumSource(
            value = GradientPlacement.class,
            names = {"SHARDED_STATES", "SHARDED_GRADIENTS"})
    void anOptimizerOfWholeStatesForPartsOfGradientsIsRefused(GradientPlacement placement) {
        LocalWorld.run(2, world -> {
            UnevenNet net = new UnevenNet();
            try (FlatOptimizer before = flat(Parameters.of(net));
                    var model = new DistributedDataParallel<>(
                            net, world.group(), DdpOptions.DEFAULT.withPlacement(placement))) {
                try (var step = model.step()) {
                    step.backward(net.loss(ShardedTraining.seed(world, 0, 0), 3));
                    assertRefused(before::step, "is not in .grad", "ZeroOptimizer");
                    assertRefused(() -> flat(Parameters.of(net)), "is not in .grad", "ZeroOptimizer");
                }
            }
        });
    }

    /** The libtorch optimizers read {@code .grad}, where each rank has gradients of its own samples or none. */
    @ParameterizedTest
    @EnumSource(
            value = GradientPlacement.class,
            names = {"SHARDED_STATES", "SHARDED_GRADIENTS"})
    void anOptimizerOfLibtorchForPartsOfGradientsIsRefused(GradientPlacement placement) {
        LocalWorld.run(2, world -> {
            UnevenNet net = new UnevenNet();
            DdpOptions options = DdpOptions.DEFAULT.withPlacement(placement);
            try (var model = new DistributedDataParallel<>(net, world.group(), options);
                    SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1))) {
                try (var _ = model.step()) {
                    var _ = net.loss(ShardedTraining.seed(world, 0, 0), 3); // an evaluation
                }
                try (var _ = model.noSync();
                        var step = model.step()) {
                    step.backward(net.loss(ShardedTraining.seed(world, 0, 0), 3));
                }
                try (var step = model.step()) {
                    step.backward(net.loss(ShardedTraining.seed(world, 0, 1), 3));
                    optimizer.step();
                    optimizer.zero_grad();
                }
                assertRefused(model::step, "ZeroOptimizer.of(reducer, ...) was not called", placement.toString());
            }
        });
    }

    @Test
    void aStepWithoutAGradientIsRefused() {
        Consumer<ParameterOptimizer> assertRefused = optimizer -> {
            UnevenNet other = new UnevenNet();
            other.loss(1, 3).backward();
            assertRefused(optimizer::step, "no parameter of the optimizer has a gradient");
            assertThat(optimizer.steps()).isZero();
            optimizer.close();
        };
        assertRefused.accept(flat(Parameters.of(new UnevenNet())));
        assertRefused.accept(libtorch(Parameters.of(new UnevenNet())));
    }

    /** All gradients of zero matrices between zero matrices are zero, so nothing would be trained. */
    @Test
    void aModelWithoutFirstValuesIsRefused() {
        Small unfilled = new Small();
        unfilled.build();
        assertRefused(
                unfilled::loss,
                "a TokenEmbedding with a weight of shape [16, 4] computes, but nothing gave it values",
                "new InitialValues(seed, model.blockCount()).fill(model)");
        InitialValues values = new InitialValues(1, 2);
        Small ofBlocks = new Small();
        ofBlocks.build(values::fill);
        assertRefused(ofBlocks::loss, "a TokenEmbedding");
        values.fill(ofBlocks);
        assertThat(ofBlocks.loss().item_double()).isPositive();
    }

    @Test
    void layersThatBeginWithZerosCompute() {
        LinearLayer layer = new LinearLayer(4, 16, true);
        assertRefused(() -> layer.forward(torch.ones(1, 4)), "a LinearLayer with a weight of shape [16, 4]");
        assertRefused(
                () -> LinearLayer.forwardAll(torch.ones(1, 4), List.of(layer, layer)),
                "a LinearLayer with a weight of shape [16, 4]");
        try (NoGradGuard _ = new NoGradGuard()) {
            layer.weight().zero_();
        }
        assertThat(layer.forward(torch.ones(1, 4)).sum().item_double()).isZero();
    }

    /** Files and other ranks may give a layer zeros, such as the last map of an added block that begins as no change. */
    @Test
    void layersToWhichAProgramGivesZerosCompute(@TempDir Path folder) {
        LocalWorld.run(2, world -> {
            Small saved = filled();
            Tensor zero = Objects.requireNonNull(ModuleTensors.parameters(saved).get("head.logits.weight"));
            try (NoGradGuard _ = new NoGradGuard()) {
                zero.zero_();
            }
            Path file = folder.resolve("weights" + world.rank() + ".safetensors");
            Safetensors.write(file, ModelState.of(saved), Map.of());
            Small fromFile = unfilled();
            WeightLoader.load(fromFile, file, NameMapping.SAME);
            assertTrains(fromFile);
            Small byBroadcast = unfilled();
            WeightLoader.load(byBroadcast, file, NameMapping.SAME, world, WeightReaders.RANK_0);
            assertTrains(byBroadcast);
            Small wrapped = world.rank() == 0 ? saved : unfilled();
            new DistributedDataParallel<>(wrapped, world.group()).close();
            assertTrains(wrapped);
            LinearLayer replaced = new LinearLayer(4, 16, true);
            replaced.weight().set_data(torch.zeros(16, 4));
            assertThat(replaced.forward(torch.ones(1, 4)).sum().item_double()).isZero();
            try (var checkpoints = CheckpointManager.open(
                    folder.resolve("checkpoints").toString(), world.group(), world.runId(), Retention.DEFAULT)) {
                new TrainState(Parameters.of(saved), flat(Parameters.of(saved))).save(checkpoints, 1);
                Small resumed = unfilled();
                new TrainState(Parameters.of(resumed), flat(Parameters.of(resumed))).resume(checkpoints);
                assertTrains(resumed);
                Small shared = unfilled();
                var sharded = FullyShard.apply(shared, new MeshAxis("shard", world.group()));
                new TrainState(sharded.parameters(), flat(sharded.parameters())).resume(checkpoints);
                try (var step = sharded.step()) {
                    step.backward(shared.loss());
                }
            }
        });
    }

    /** A gather of zeros is no load. */
    @Test
    void aShardedModelWithoutFirstValuesIsRefused() {
        LocalWorld.run(2, world -> {
            Small model = unfilled();
            var sharded = FullyShard.apply(model, new MeshAxis("shard", world.group()));
            assertThatThrownBy(() -> {
                        try (var _ = sharded.step()) {
                            model.loss();
                        }
                    })
                    .hasMessageContaining("a TokenEmbedding with a weight of shape [16, 4] computes");
        });
    }

    private static void assertTrains(Small model) {
        model.loss().backward();
        try (FlatOptimizer optimizer = flat(Parameters.of(model))) {
            optimizer.step();
        }
        assertThat(model.loss().item_double()).isPositive();
    }

    private static Small unfilled() {
        Small model = new Small();
        model.build();
        return model;
    }

    /** The program's random numbers would be equal in each run. */
    @Test
    void aBuildLeavesTheRandomNumbersOfTheProgram() {
        torch.manual_seed(7);
        double expected = torch.rand(1).item_double();
        torch.manual_seed(7);
        LayeredModel model = new LayeredModel(new ModelSetup(16, 8, Device.CPU, 1)) {
            {
                first("embedding", () -> new LinearImpl(4, 4), LinearImpl::forward);
                block(() -> new LinearImpl(4, 4), LinearImpl::forward);
                last("head", () -> new LinearImpl(4, 4), LinearImpl::forward);
            }
        };
        model.build();
        assertThat(torch.rand(1).item_double()).isEqualTo(expected);
    }

    @Test
    void parallelismsOfAModelThatIsNotBuiltAreRefused() {
        LocalWorld.run(1, world -> {
            MeshAxis axis = new MeshAxis("axis", world.group());
            Small model = new Small();
            List<Runnable> uses = List.of(
                    () -> TensorParallel.apply(model, axis, model.tensorParallelPlan()),
                    () -> new ExpertParallel(axis).apply(model),
                    () -> ContextParallel.apply(model, axis, axis, ContextParallel.Exchange.RING),
                    () -> FullyShard.apply(model, axis),
                    () -> new InitialValues(1, 2).fill(model));
            uses.forEach(use -> assertRefused(use, "Small is not built. Call build() first."));
        });
    }

    /** The rows of the last unit would not get their gradients. */
    @Test
    void aBackwardPassWithoutTheStepIsRefused() {
        LocalWorld.run(2, world -> {
            Small model = filled();
            FullyShardedDataParallel sharded = FullyShard.apply(model, new MeshAxis("shard", world.group()));
            assertThatThrownBy(() -> {
                        try (var _ = sharded.step()) {
                            model.loss().backward();
                        }
                    })
                    .hasMessageContaining("Call step.backward(loss) in place of loss.backward()");
            FeedForward net = new FeedForward(4, 8, Device.CPU); // without blocks
            new InitialValues(1, 1).fill(net);
            FullyShardedDataParallel whole = FullyShard.apply(net, new MeshAxis("shard", world.group()));
            try (var step = whole.step()) {
                step.backward(net.forward(torch.ones(1, 4)).sum());
            }
            assertThatThrownBy(() -> {
                        try (var _ = whole.step()) {
                            net.forward(torch.ones(1, 4)).sum().backward();
                        }
                    })
                    .hasMessageContaining("Call step.backward(loss) in place of loss.backward()");
            assertRefused(
                    () -> {
                        try (var _ = whole.step()) {
                            net.zero_grad(true);
                            net.forward(torch.ones(1, 4)).sum().backward();
                        }
                    },
                    "Call step.backward(loss) in place of loss.backward()");
        });
    }

    @Test
    void parametersOfAModelThatIsNotShardedYetAreRefused() {
        LocalWorld.run(2, world -> {
            Small model = filled();
            var sharding = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), FsdpOptions.DEFAULT);
            assertRefused(sharding::parameters, "FullyShard was applied to 0 blocks, but not to their model");
            model.blocks().forEach(block -> FullyShard.apply(block, sharding));
            assertRefused(sharding::parameters, "FullyShard was applied to 2 blocks, but not to their model");
            FullyShard.apply(model, sharding);
            assertThat(sharding.parameters()).containsKeys("head.logits.weight", "block0.norm1.weight");
            assertRefused(
                    () -> new InitialValues(1, 2).fill(model),
                    "Call InitialValues.fill before FullyShard, DDP and ZeRO");
        });
    }

    /** The optimizer would update memory that no layer reads. */
    @Test
    void parametersThatLeaveTheMemoryOfTheirOptimizerAreRefused() {
        Small model = filled();
        try (FlatOptimizer first = flat(Parameters.of(model));
                FlatOptimizer second = flat(Parameters.of(model))) {
            model.loss().backward();
            first.step();
            second.step();
            second.step();
            assertRefused(first::step, "has other memory than after the last step", "Make one optimizer");
            model.to(torch.ScalarType.Double, false);
            assertRefused(second::step, "has other memory than after the last step", "Module.to");
        }
    }

    /** Logits of all tokens are no logits of a part, and the other way round. */
    @Test
    void logitsThatDoNotFitTheirLossAreRefused() {
        LocalWorld.run(2, world -> {
            MeshAxis axis = new MeshAxis("tp", world.group());
            Small wholeLogits = filled();
            TensorParallel.apply(
                    wholeLogits,
                    axis,
                    Map.of("embedding.tokens", ParallelStyle.VOCABULARY, "loss", ParallelStyle.VOCABULARY));
            assertThatThrownBy(wholeLogits::loss)
                    .hasMessageContaining("VOCABULARY got logits of 16 tokens, but this rank has 8 tokens");
            assertThatThrownBy(
                            () -> TensorParallel.apply(filled(), axis, Map.of("head.logits", ParallelStyle.VOCABULARY)))
                    .hasMessageContaining(
                            "layer 'head.logits' of the style VOCABULARY gives the logits of a part of the tokens")
                    .hasMessageContaining("the loss 'loss' has no style");
            Map<String, ParallelStyle> plan = TinyTransformer.plan(2);
            plan.remove("loss");
            TinyTransformer tied = new TinyTransformer(TinyTransformer.Options.of(torch.ScalarType.Float));
            TensorParallel.apply(tied, axis, plan);
            Tensor tokens = torch.zeros(1, 4).to(torch.ScalarType.Long);
            assertThatThrownBy(() -> tied.loss(tokens, tokens))
                    .hasMessageContaining("layer 'tokens' of the style VOCABULARY gives the logits of a part");
        });
    }

    /** Ranks that share layers call outputLoss, not loss: an override of loss would have no effect. */
    @Test
    void theLossOfInputsCannotBeOverridden() throws NoSuchMethodException {
        int modifiers = TrainableModel.class
                .getMethod("loss", Tensor.class, Tensor.class)
                .getModifiers();
        assertThat(Modifier.isFinal(modifiers)).isTrue();
    }

    /** Each rank would take its whole sequence for a part of a longer one. */
    @Test
    void sequencesThatAreNotDividedAreRefused() {
        LocalWorld.run(2, world -> {
            MeshAxis axis = new MeshAxis("cp", world.group());
            Small model = filled();
            var context = ContextParallel.apply(model, axis, axis, ContextParallel.Exchange.RING);
            assertThat(context.split().localLength(8)).isEqualTo(4);
            assertRefused(model::loss, "Give the model context.tokens(tokens), and the loss context.tokens(targets)");
            Tensor tokens = context.tokens(torch.ones(new long[] {2, 8}).to(torch.ScalarType.Long));
            assertThat(model.loss(tokens, tokens).item_double()).isPositive();
            assertThatThrownBy(() -> ContextParallel.apply(model, axis, axis, ContextParallel.Exchange.RING))
                    .hasMessageContaining("share the sequences of the model already. Apply ContextParallel once");
            assertThatThrownBy(() -> TensorParallel.apply(model, axis, model.tensorParallelPlan()))
                    .hasMessageContaining("two parallelisms use the ranks of the axis 'cp' for a parameter");
        });
    }

    @Test
    void aStateOfAnotherModelOrOptimizerIsRefused(@TempDir Path folder) {
        LocalWorld.run(1, world -> {
            try (var checkpoints =
                    CheckpointManager.open(folder.toString(), world.group(), world.runId(), Retention.DEFAULT)) {
                Small model = filled();
                FlatOptimizer adamW = flat(Parameters.of(model));
                model.loss().backward();
                adamW.step();
                assertThatThrownBy(() -> new TrainState(Parameters.of(filled()), adamW))
                        .hasMessageContaining("which is not one of the given parameters");
                new TrainState(Parameters.of(model), adamW).save(checkpoints, 1);
                Small same = filled();
                FlatOptimizer sgd =
                        new FlatOptimizer(Parameters.of(same), FusedSgd.PLAIN, ParameterGroup.all(0), SCHEDULE);
                assertThatThrownBy(() -> new TrainState(Parameters.of(same), sgd).resume(checkpoints))
                        .hasMessageContaining(".exp_avg', but this optimizer keeps [step]");
                assertThat(same.loss().item_double()).isEqualTo(filled().loss().item_double());
                Map<String, ShardedTensor> fewer = Parameters.of(filled());
                fewer.keySet().removeIf(name -> name.startsWith("block1."));
                assertThatThrownBy(() -> new TrainState(fewer, flat(fewer)).resume(checkpoints))
                        .hasMessageContaining("the checkpoint has the tensor 'model.block1.")
                        .hasMessageContaining("but this model has no such parameter");
            }
        });
    }

    /** A loader that divides the samples by the rank of the world gives each rank of an axis other samples. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void ranksOfOneModelWithDifferentTokensAreRefused(boolean isSequenceParallel) {
        LocalWorld.run(2, world -> {
            MeshAxis axis = new MeshAxis("axis", world.group());
            Tensor tokens = torch.arange(new Scalar(8L))
                    .add(new Scalar((long) world.rank()))
                    .view(1, 8);
            Small layers = filled();
            TensorParallel.apply(layers, axis, isSequenceParallel, layers.tensorParallelPlan());
            assertThatThrownBy(() -> layers.loss(tokens, tokens))
                    .hasMessageContaining("the ranks of the axis 'axis' have different tokens")
                    .hasMessageContaining("mesh.coordinate(\"dp\")");
            Small sequences = filled();
            var context = ContextParallel.apply(sequences, axis, axis, ContextParallel.Exchange.RING);
            assertThatThrownBy(() -> context.tokens(tokens))
                    .hasMessageContaining("the ranks of the axis 'axis' have different tokens");
        });
    }

    /** A first layer without a style computes with the samples of its own rank, and a COLUMN layer gets the result. */
    @Test
    void ranksOfOneModelWithDifferentInputsOfALayerAreRefused() {
        LocalWorld.run(2, world -> {
            Small layers = filled();
            TensorParallel.apply(
                    layers,
                    new MeshAxis("axis", world.group()),
                    Map.of(
                            "block*.feedForward.up", ParallelStyle.COLUMN,
                            "block*.feedForward.down", ParallelStyle.ROW));
            Tensor tokens = torch.arange(new Scalar(8L)).view(1, 8);
            Tensor others = tokens.add(new Scalar((long) world.rank()));
            assertThatThrownBy(() -> layers.loss(others, others))
                    .hasMessageContaining("the ranks of the axis 'axis' have different inputs of a layer")
                    .hasMessageContaining("mesh.coordinate(\"dp\")");
            assertThat(layers.loss(tokens, tokens).item_double())
                    .isCloseTo(filled().loss(tokens, tokens).item_double(), Offset.offset(1e-6));
            Small without = filled();
            TensorParallel.apply(
                    without,
                    new MeshAxis("axis", world.group()),
                    Map.of("block*.feedForward.up", ParallelStyle.COLUMN));
            assertThatThrownBy(() -> without.loss(tokens, tokens))
                    .hasMessageContaining("inputs got a tensor of shape")
                    .hasMessageContaining("this layer needs the style ROW");
        });
    }

    /** AdamW would let the weight of a frozen parameter decay, and no rank would average the gradient of an unfrozen one. */
    @Test
    void parametersThatAreFrozenOrUnfrozenAfterTheWrapperAreRefused() {
        LocalWorld.run(2, world -> {
            Small model = filled();
            FullyShardedDataParallel sharded = FullyShard.apply(model, new MeshAxis("shard", world.group()));
            Tensor weight =
                    Objects.requireNonNull(ModuleTensors.parameters(model).get("head.logits.weight"));
            weight.set_requires_grad(false);
            assertRefused(
                    sharded::step,
                    "requires_grad of parameter 'head.logits.weight' has changed since FullyShard.apply");
            weight.set_requires_grad(true);
            sharded.step().close();

            UnevenNet net = new UnevenNet();
            Tensor table = Objects.requireNonNull(ModuleTensors.parameters(net).get("table.weight"));
            table.set_requires_grad(false);
            try (var ddp = new DistributedDataParallel<>(net, world.group())) {
                ddp.step().close();
                table.set_requires_grad(true);
                assertRefused(ddp::step, "parameter 'table.weight' was frozen when DistributedDataParallel was made");
            }
        });
    }

    private static Small filled() {
        Small model = new Small();
        model.build();
        new InitialValues(1, 2).fill(model);
        return model;
    }
}
