package io.jrun.train.pipeline;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.fsdp.FsdpOptions;
import io.jrun.train.fsdp.FullyShardedDataParallel;
import io.jrun.train.fsdp.ShardedStages;
import io.jrun.train.mesh.DeviceMesh;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.pipeline.schedule.PipelineSchedule;
import io.jrun.train.pipeline.schedule.ScheduleException;
import io.jrun.train.pipeline.schedule.ScheduleKind;
import io.jrun.train.precision.LossScaler;
import io.jrun.train.precision.ScalePolicy;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class PipelineParallelTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static PipelineParallel model(World world, PipelineOptions options) {
        return new PipelineParallel(
                new StagedGpt(true, false).layers(), StagedGpt::loss, new MeshAxis("pp", world.group()), options);
    }

    /** The loss without gradients, and after it a step: both see the same model. */
    @ParameterizedTest
    @EnumSource(names = {"ONE_FORWARD_ONE_BACKWARD", "ZERO_BUBBLE_V"})
    void evaluationHasTheLossOfAStep(ScheduleKind kind) {
        LocalWorld.run(2, world -> {
            try (PointerScope _ = new PointerScope();
                    PipelineParallel model =
                            model(world, PipelineOptions.of(kind, 2, kind == ScheduleKind.ZERO_BUBBLE_V ? 2 : 1, 4))) {
                List<Tensor> batch = Collections.nCopies(4, StagedGpt.batch(1, 2));
                double evaluated = model.evaluate(batch, batch);
                assertThat(model.evaluate(batch.subList(0, 3), batch.subList(0, 3)))
                        .isEqualTo(evaluated, within(1e-6));
                assertThat(model.step(batch, batch)).isEqualTo(evaluated);
            }
        });
    }

    /** Two calls of accumulate and step add up what two steps have. */
    @Test
    void accumulationAddsTheGradientsOfBothBatches() {
        LocalWorld.run(2, world -> {
            try (PointerScope _ = new PointerScope();
                    PipelineParallel once = model(world, PipelineOptions.of(ScheduleKind.ZERO_BUBBLE_V, 2, 2, 4));
                    PipelineParallel twice = model(world, PipelineOptions.of(ScheduleKind.ZERO_BUBBLE_V, 2, 2, 4))) {
                List<Tensor> batch = Collections.nCopies(4, StagedGpt.batch(1, 2));
                double _ = once.step(batch, batch);
                double _ = twice.accumulate(batch, batch);
                double _ = twice.step(batch, batch);
                Parameters.here(once.parameters()).forEach((name, parameter) -> {
                    Tensor sum = requireNonNull(twice.parameters().get(name)).gradient();
                    Tensor one = parameter.grad();
                    assertThat(sum.sub(one).sub(one).abs().max().item_float())
                            .as(name)
                            .isLessThan(1e-6f);
                });
            }
        });
    }

    /** A rank with both uses of the tied embedding keeps the gradients of each. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void zeroGradientsDropsWhatAccumulateHasAdded(boolean isSharded) {
        LocalWorld.run(isSharded ? 4 : 2, world -> {
            double alone = normOfStep(world, isSharded, false);
            assertThat(normOfStep(world, isSharded, true)).isEqualTo(alone).isPositive();
        });
    }

    private static double normOfStep(World world, boolean isSharded, boolean dropsABatch) {
        try (PointerScope _ = new PointerScope();
                DeviceMesh mesh = DeviceMesh.of(world, "pp", 2, "shard", world.size() / 2)) {
            PipelineOptions plain = PipelineOptions.of(ScheduleKind.ZERO_BUBBLE_V, 2, 2, 4);
            var fsdp = new FullyShardedDataParallel(mesh.axis("shard"), FsdpOptions.DEFAULT);
            try (PipelineParallel model = new PipelineParallel(
                            new StagedGpt(true, false).layers(),
                            StagedGpt::loss,
                            mesh.axis("pp"),
                            isSharded ? plain.withReplicas(new ShardedStages(fsdp)) : plain);
                    FlatOptimizer optimizer = new FlatOptimizer(
                            model.parameters(),
                            FusedSgd.PLAIN,
                            ParameterGroup.all(0),
                            LearningRateSchedule.constant(0.1));
                    var _ = isSharded ? fsdp.step() : null) {
                if (dropsABatch) {
                    List<Tensor> dropped = Collections.nCopies(4, StagedGpt.batch(2, 2));
                    double _ = model.accumulate(dropped, dropped);
                    optimizer.zeroGradients();
                }
                List<Tensor> batch = Collections.nCopies(4, StagedGpt.batch(1, 2));
                double _ = model.step(batch, batch);
                return Gradients.norm(model.parameters().values()).value();
            }
        }
    }

    /** A rank that skips a step alone would leave the others with another scale. */
    @Test
    void aLossScalerWithoutTheRanksOfThePipelineIsRefused() {
        LocalWorld.run(2, world -> {
            try (PipelineParallel model = model(world, PipelineOptions.of(ScheduleKind.GPIPE, 2, 1, 2))) {
                LossScaler alone = new LossScaler(new ScalePolicy(1024, 2, 0.5, 2000), null);
                assertThatThrownBy(() -> alone.unscale(model.parameters().values()))
                        .hasMessageContaining(
                                "is on some ranks only of the axis 'pp' (ranks [0, 1]), but LossScaler has"
                                        + " no group");
                LossScaler own = new LossScaler(
                        new ScalePolicy(1024, 2, 0.5, 2000), world.group().newGroup(List.of(world.rank())));
                assertThatThrownBy(() -> own.unscale(model.parameters().values()))
                        .hasMessageContaining(
                                "on some ranks only of the axis 'pp' (ranks [0, 1]), but LossScaler decides");
            }
        });
    }

    @Test
    void parametersOfOtherRanksTakeNoMemory() {
        LocalWorld.run(2, world -> {
            List<PipelineLayer> layers = new StagedGpt(true, false).layers();
            try (PipelineParallel model = new PipelineParallel(
                    layers,
                    StagedGpt::loss,
                    new MeshAxis("pp", world.group()),
                    PipelineOptions.of(ScheduleKind.GPIPE, 2, 1, 2))) {
                for (PipelineLayer layer : layers) {
                    layer.parameters().forEach((name, tensor) -> {
                        if (requireNonNull(model.parameters().get(name)).isHere()) {
                            assertThat(tensor.sum().item_double()).isFinite();
                        } else {
                            assertThatThrownBy(tensor::sum)
                                    .hasMessageContaining(
                                            "the parameter '" + name + "' belongs to a stage of another pipeline rank");
                        }
                    });
                }
            }
        });
    }

    @Test
    void unevenMicroBatchesAreRefusedWithTheReason() {
        LocalWorld.run(2, world -> {
            try (PipelineParallel model = model(world, PipelineOptions.of(ScheduleKind.GPIPE, 2, 1, 2))) {
                List<Tensor> uneven = List.of(StagedGpt.batch(1, 2), StagedGpt.batch(2, 1));
                assertThatThrownBy(() -> model.step(uneven, uneven))
                        .isInstanceOf(PipelineException.class)
                        .hasMessageContaining(
                                "the input of micro-batch 1 is Long[1, 6], that of micro-batch 0 Long[2, 6]");
                assertThatThrownBy(() -> model.step(uneven.subList(0, 1), uneven.subList(0, 1)))
                        .hasMessage("the step has 1 micro-batches, but the schedule is for 2");
            }
        });
        assertThatThrownBy(() -> MicroBatches.split(StagedGpt.batch(1, 7), 2))
                .hasMessageStartingWith("a batch of 7 samples does not divide into 2 micro-batches of equal size");
    }

    /** A stage whose output depends on the micro-batch: the sender finds it, because the receiver could only wait. */
    @Test
    void outputsOfOtherShapesAreRefused() {
        int[] calls = {0};
        PipelineLayer first = new PipelineLayer(
                "first", Map.of(), x -> x.to(torch.ScalarType.Float).narrow(0, 0, 2 - calls[0]++));
        PipelineLayer second = new PipelineLayer("second", Map.of(), x -> x);
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    try (PipelineParallel model = new PipelineParallel(
                            List.of(first, second),
                            (x, _) -> x.sum(),
                            new MeshAxis("pp", world.group()),
                            PipelineOptions.of(ScheduleKind.GPIPE, 2, 1, 2))) {
                        List<Tensor> batch = Collections.nCopies(2, StagedGpt.batch(1, 2));
                        double _ = model.evaluate(batch, batch);
                    }
                }))
                .isInstanceOf(PipelineException.class)
                .hasMessageContaining(
                        "0SEND_F1: the output is F32[1, 6], but the first output of this step was F32[2, 6]");
    }

    @Test
    void ranksWithOtherOptionsAndSchedulesThatDoNotFitAreRefused() {
        assertThatThrownBy(() -> LocalWorld.run(2, world -> {
                    int microBatches = 2 + 2 * world.rank();
                    model(world, PipelineOptions.of(ScheduleKind.GPIPE, 2, 1, microBatches))
                            .close();
                }))
                .isInstanceOf(PipelineException.class)
                .hasMessageStartingWith("pipeline rank 1 (rank 1) has another schedule than pipeline rank 0");
        assertThatThrownBy(() -> LocalWorld.run(
                        1,
                        world -> model(world, PipelineOptions.of(ScheduleKind.GPIPE, 2, 1, 2))
                                .close()))
                .hasMessage("the schedule is for 2 pipeline ranks, but the group has 1");
        assertThatThrownBy(() -> LocalWorld.run(
                        2,
                        world -> model(
                                        world,
                                        PipelineOptions.of(PipelineSchedule.parse("0F0 0B0 0F1 0B1\n1F0 1F1 1B0 1B1")))
                                .close()))
                .isInstanceOf(ScheduleException.class)
                .hasMessageContaining("deadlock");
        assertThatThrownBy(() -> StageCut.byCount(3, 4))
                .hasMessage("a model of 3 layers has no 4 stages: use fewer pipeline ranks or fewer virtual stages");
    }

    @Test
    void cutsByCount() {
        assertThat(StageCut.byCount(8, 3).starts()).containsExactly(0, 3, 6);
        assertThatThrownBy(() -> new StageCut(List.of(0, 2, 2), 4)).isInstanceOf(PipelineException.class);
    }
}
