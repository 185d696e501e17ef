package io.jrun.train.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Device;
import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.ShardedTraining;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.expert.ExpertNetwork;
import io.jrun.train.expert.ExpertOptions;
import io.jrun.train.expert.ExpertParallel;
import io.jrun.train.expert.MixtureOfExperts;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShard;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.FeedForward;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.pipeline.PipelineException;
import io.jrun.train.pipeline.StageCut;
import io.jrun.train.pipeline.StageLayers;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.recompute.Recompute;
import io.jrun.train.step.NoSync;
import io.jrun.train.step.Step;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.train.tensorparallel.TensorParallel;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A model whose blocks 0, 1 and 3 have one module, as in ALBERT: arXiv:1909.11942. */
class SharedBlocksTest {
    private static final Map<String, ParallelStyle> PLAN = Map.of(
            "block*.up", ParallelStyle.COLUMN,
            "block*.down", ParallelStyle.ROW);

    private static final class Model extends LayeredModel {
        Model() {
            this(shared(new FeedForward(4, 8, Device.CPU)));
        }

        Model(List<? extends CompositeModule> blocks) {
            super(new ModelSetup(16, 8, Device.CPU, 1));
            first("embedding", () -> new TokenEmbedding(16, 4, Device.CPU), TokenEmbedding::forward);
            blocks.forEach(module -> block(() -> module, (part, x) -> x.add(forward(part, x))));
            last("head", () -> new LinearLayer(4, 16, true), LinearLayer::forward);
        }

        private static List<FeedForward> shared(FeedForward module) {
            return List.of(module, module, new FeedForward(4, 8, Device.CPU), module);
        }

        private static Tensor forward(CompositeModule part, Tensor x) {
            return switch (part) {
                case FeedForward layer -> layer.forward(x);
                case MixtureOfExperts layer -> layer.forward(x);
                default -> x;
            };
        }

        Model built() {
            build();
            return this;
        }

        Tensor loss(long seed) {
            Tensor tokens = torch.ones(new long[] {2, 8}).to(torch.ScalarType.Long);
            return loss(tokens.mul(new Scalar(seed % 13)), tokens);
        }
    }

    /** A layer that another block has too, and a layer of its own. */
    private static final class Pair extends CompositeModule {
        Pair(LinearLayer common) {
            var _ = add("common", common);
            var _ = add("own", new LinearLayer(4, 4, true));
        }
    }

    private static void train(
            World world, Model model, Supplier<Step> steps, Supplier<NoSync> noSync, Map<String, ShardedTensor> named) {
        try (FlatOptimizer optimizer = new FlatOptimizer(
                named, FusedAdamW.DEFAULT, ParameterGroup.all(0.1), LearningRateSchedule.constant(0.05))) {
            for (int i = 0; i < 4; i++) {
                try (Step step = steps.get()) {
                    try (var _ = noSync.get()) {
                        step.backward(model.loss(ShardedTraining.seed(world, i, 1)));
                    }
                    Tensor first = model.loss(ShardedTraining.seed(world, i, 0));
                    Tensor second = model.loss(ShardedTraining.seed(world, i, 2));
                    try (var _ = noSync.get()) {
                        step.backward(first);
                    }
                    step.backward(second);
                    optimizer.step();
                    optimizer.zeroGradients();
                }
            }
        }
    }

    private static Map<String, float[]> replicated(World world) {
        Model model = new Model();
        model.build(new InitialValues(1, 4)::fill);
        new InitialValues(1, 4).fill(model);
        try (var ddp = new DistributedDataParallel<>(model, world.group())) {
            train(world, model, ddp::step, ddp::noSync, Parameters.of(model));
            Map<String, float[]> values = new TreeMap<>();
            ModuleTensors.parameters(model).forEach((name, tensor) -> values.put(name, values(tensor)));
            return values;
        }
    }

    private static Map<String, float[]> sharded(World world, FsdpOptions options, boolean recomputes) {
        InitialValues values = new InitialValues(1, 4);
        Model model = new Model();
        var fsdp = new FullyShardedDataParallel(new MeshAxis("shard", world.group()), options);
        model.build(block -> {
            values.fill(block);
            if (recomputes) {
                Recompute.apply(block);
            }
            FullyShard.apply(block, fsdp);
        });
        values.fill(model);
        FullyShard.apply(model, fsdp);
        assertThat(fsdp.units()).containsExactly("block0", "block2", "root");
        train(world, model, fsdp::step, fsdp::noSync, fsdp.parameters());
        return new TreeMap<>(fsdp.wholeParameters((_, whole) -> values(whole)));
    }

    private static float[] values(Tensor tensor) {
        return TensorMemory.segment(tensor.detach().contiguous()).toArray(ValueLayout.JAVA_FLOAT);
    }

    @ParameterizedTest
    @CsvSource({"false, false", "true, false", "false, true"})
    void aSharedUnitHasTheBitsOfReplicas(boolean keepsWhole, boolean recomputes) {
        FsdpOptions options =
                keepsWhole ? FsdpOptions.DEFAULT.withReshardAfterForward(FsdpOptions.KEEP) : FsdpOptions.DEFAULT;
        Map<String, float[]> expected =
                ShardedTraining.run(2, SharedBlocksTest::replicated).getFirst();
        ShardedTraining.run(2, world -> sharded(world, options, recomputes))
                .forEach(values -> assertThat(ShardedTraining.bits(values)).isEqualTo(ShardedTraining.bits(expected)));
    }

    /** Each pass gathers a block once, and reduces a unit behind the last of its blocks. */
    @Test
    void aSharedUnitIsGatheredForEachBlockAndReducedOnce() {
        ShardedTraining.run(2, world -> {
            Model model = new Model();
            new InitialValues(1, 4).fill(model.built());
            FullyShardedDataParallel fsdp = FullyShard.apply(model, new MeshAxis("shard", world.group()));
            for (int i = 0; i < 2; i++) {
                try (Step step = fsdp.step()) {
                    step.backward(model.loss(ShardedTraining.seed(world, i, 0)));
                }
            }
            List<String> spans = fsdp.spans().stream()
                    .map(span -> span.unit() + " " + span.kind())
                    .toList();
            assertThat(spans.stream().filter("block2 GATHER"::equals)).hasSize(2);
            assertThat(spans.stream().filter("block0 REDUCE"::equals)).hasSize(1);
            assertThat(spans.subList(spans.size() - 2, spans.size())).containsExactly("block0 REDUCE", "root REDUCE");
            return Map.of();
        });
    }

    @Test
    void aBlockThatSharesAPartOfItsParametersIsRefused() {
        LocalWorld.run(2, world -> {
            Model model = new Model();
            LinearLayer common = new LinearLayer(4, 4, true);
            Model tied = new Model(List.of(new Pair(common), new Pair(common)));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> FullyShard.apply(tied.built(), new MeshAxis("shard", world.group())))
                    .withMessageStartingWith("block1 shares parameter '")
                    .withMessageContaining("' with block0, but not parameter 'block1.own.");
            FullyShardedDataParallel _ = FullyShard.apply(model.built(), new MeshAxis("shard", world.group()));
        });
    }

    @Test
    void expertsThatBlocksShareAreRefused() {
        LocalWorld.run(2, world -> {
            MixtureOfExperts shared = new MixtureOfExperts(
                    ExpertNetwork.Kind.GELU, 4, 8, new ExpertOptions(2, 1, 0, 0.01, 0), Device.CPU);
            Model model = new Model(List.of(shared, shared));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new ExpertParallel(new MeshAxis("ep", world.group())).apply(model.built()))
                    .withMessageContaining("is the same module as layer 'block")
                    .withMessageContaining("ExpertParallel needs a module of its own for each layer");
        });
    }

    @Test
    void stagesThatShareAModuleAreRefused() {
        LocalWorld.run(2, world -> {
            var schedule = ScheduleKind.ONE_FORWARD_ONE_BACKWARD.schedule(2, 1, 2);
            var stages = new StageLayers(StageCut.byCount(6, 2), schedule, new MeshAxis("pp", world.group()), 1);
            assertThatThrownBy(() -> new Model().build(stages::keeps))
                    .isInstanceOf(PipelineException.class)
                    .hasMessage("block3 has the same module as block0, and is in stage 1 of the pipeline, not in stage"
                            + " 0. Blocks of different stages need modules of their own.");
        });
    }

    @Test
    void tensorParallelBlocksThatShareAModuleAreRefused() {
        LocalWorld.run(2, world -> {
            MeshAxis axis = new MeshAxis("tp", world.group());
            Model whole = new Model();
            whole.build();
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> TensorParallel.apply(whole, axis, Map.of("block*.down", ParallelStyle.ROW)))
                    .withMessage(
                            "layer 'block1.down' is the same module as layer 'block0.down'. TensorParallel needs a module of"
                                    + " its own for each layer.");
            TensorParallel parallel = new TensorParallel(axis, false, PLAN);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new Model().build((ModelBlock block) -> parallel.apply(block)))
                    .withMessageContaining("layer 'block1.")
                    .withMessageContaining("is the same module as layer 'block0.");
        });
    }
}
