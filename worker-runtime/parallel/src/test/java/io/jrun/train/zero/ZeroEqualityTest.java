package io.jrun.train.zero;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.DrawnCases;
import io.jrun.train.ShardedTraining;
import io.jrun.train.UnevenNet;
import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.ddp.DdpOptions;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.mesh.Parameters;
import io.jrun.train.optim.FlatOptimizer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.FusedSgd;
import io.jrun.train.optim.Gradients;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.ParameterOptimizer;
import io.jrun.train.optim.UpdateRule;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.tensor.ModuleTensors;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Parameters after five steps of AdamW: stages 1 and 2 of ZeRO against DistributedDataParallel, bit for bit. */
class ZeroEqualityTest {
    static List<Integer> worlds() {
        return DrawnCases.of(List.of(2, 3, 4), 2);
    }

    @ParameterizedTest
    @MethodSource("worlds")
    void theBitsAreThoseOfDdp(int ranks) {
        Map<String, float[]> expected = ShardedTraining.run(ranks, world -> ShardedTraining.ddp(world, 1))
                .getFirst();
        assertThat(ShardedTraining.run(ranks, ShardedTraining::zeroOne))
                .allSatisfy(rank -> assertThat(ShardedTraining.bits(rank)).isEqualTo(ShardedTraining.bits(expected)));
        assertThat(ShardedTraining.run(ranks, ShardedTraining::zeroTwo))
                .allSatisfy(rank -> assertThat(ShardedTraining.bits(rank)).isEqualTo(ShardedTraining.bits(expected)));
    }

    /** All ranks have the same samples, so the mean gradients are the serial ones. */
    @Test
    void clippingTakesTheNormOfAllParts() {
        UnevenNet serial = new UnevenNet();
        serial.loss(3, 3).backward();
        double norm =
                Gradients.clip(Parameters.of(serial).values(), Double.MAX_VALUE).value();
        LocalWorld.run(2, world -> {
            UnevenNet net = new UnevenNet();
            try (var model = new DistributedDataParallel<>(
                            net, world.group(), DdpOptions.DEFAULT.withPlacement(GradientPlacement.SHARDED_STATES));
                    var _ = ZeroOptimizer.of(
                            model.reducer(),
                            FusedAdamW.DEFAULT,
                            ParameterGroup.all(0),
                            LearningRateSchedule.constant(1e-3));
                    var step = model.step()) {
                step.backward(net.loss(3, 3));
                assertThat(Gradients.clip(Parameters.of(net).values(), norm / 2).value())
                        .isCloseTo(norm, within(1e-6));
                assertThat(Gradients.clip(Parameters.of(net).values(), norm).value())
                        .isCloseTo(norm / 2, within(1e-6));
            }
        });
    }

    /** What a program does with the gradients of the step before. */
    private enum Clearing {
        BY_THE_OPTIMIZER,
        DROP,
        KEEP
    }

    /** The means of a pass stay when a later pass of the same step adds to the gradients, with and without a reduction. */
    @Test
    void reducedPassesOfOneStepAddUp() {
        for (Clearing clearing : List.of(Clearing.values())) {
            Map<String, float[]> expected = ShardedTraining.run(2, world -> severalPasses(world, null, clearing))
                    .getFirst();
            for (GradientPlacement placement :
                    List.of(GradientPlacement.SHARDED_STATES, GradientPlacement.SHARDED_GRADIENTS)) {
                if (placement == GradientPlacement.SHARDED_GRADIENTS && clearing == Clearing.DROP) {
                    continue; // only the optimizer drops the gradients of stage 2
                }
                assertThat(ShardedTraining.run(2, world -> severalPasses(world, placement, clearing)))
                        .allSatisfy(rank -> rank.forEach((name, values) -> assertThat(values)
                                .as("%s, %s, %s", placement, clearing, name)
                                .usingComparatorWithPrecision(1e-6f)
                                .containsExactly(expected.get(name))));
            }
        }
    }

    /** Five steps of a reduced pass, a pass without a reduction and a reduced pass. A null placement is DDP. */
    private static Map<String, float[]> severalPasses(
            World world, @Nullable GradientPlacement placement, Clearing clearing) {
        UnevenNet net = new UnevenNet();
        DdpOptions options =
                placement == null ? ShardedTraining.BUCKETS : ShardedTraining.BUCKETS.withPlacement(placement);
        UpdateRule rule = new FusedSgd(0.9, false);
        try (var model = new DistributedDataParallel<>(net, world.group(), options);
                ParameterOptimizer optimizer = placement == null
                        ? new FlatOptimizer(
                                Parameters.of(net), rule, ParameterGroup.all(0.1), _ -> 0.05, model.gradientMemory())
                        : ZeroOptimizer.of(model.reducer(), rule, ParameterGroup.all(0.1), _ -> 0.05)) {
            for (int step = 0; step < ShardedTraining.STEPS; step++) {
                try (var scope = model.step()) {
                    if (clearing == Clearing.BY_THE_OPTIMIZER) {
                        optimizer.zeroGradients();
                    } else if (clearing == Clearing.DROP) {
                        net.zero_grad(true);
                    }
                    scope.backward(net.loss(ShardedTraining.seed(world, step, 0), 3));
                    try (var _ = model.noSync()) {
                        scope.backward(net.loss(ShardedTraining.seed(world, step, 1), 3));
                    }
                    scope.backward(net.loss(ShardedTraining.seed(world, step, 2), 3));
                    optimizer.step();
                }
            }
            return ShardedTraining.values(ModuleTensors.parameters(net));
        }
    }

    /** The reducer does not see the beginning of a plain pass. */
    @Test
    void aPlainPassOfStageOneOverReducedGradientsIsRefused() {
        LocalWorld.run(2, world -> {
            UnevenNet net = new UnevenNet();
            try (var model = new DistributedDataParallel<>(
                            net, world.group(), DdpOptions.DEFAULT.withPlacement(GradientPlacement.SHARDED_STATES));
                    ZeroOptimizer optimizer =
                            ZeroOptimizer.of(model.reducer(), FusedAdamW.DEFAULT, ParameterGroup.all(0), _ -> 1e-3)) {
                for (int step = 0; step < 2; step++) {
                    try (var _ = model.step()) {
                        optimizer.zeroGradients();
                        net.loss(1, 3).backward();
                        optimizer.step();
                    }
                }
                try (var _ = model.step()) {
                    assertThatThrownBy(() -> net.loss(1, 3).backward())
                            .hasMessageContaining("a plain backward() adds to gradients that were reduced")
                            .hasMessageContaining("optimizer.zeroGradients()");
                }
            }
        });
    }

    /** Half a step must not be saved. */
    @Test
    void aStepWhoseUpdateHasFailedCannotBeSaved() {
        LocalWorld.run(1, world -> {
            UnevenNet net = new UnevenNet();
            try (var model = new DistributedDataParallel<>(
                            net, world.group(), DdpOptions.DEFAULT.withPlacement(GradientPlacement.SHARDED_STATES));
                    ZeroOptimizer optimizer =
                            ZeroOptimizer.of(model.reducer(), FusedAdamW.DEFAULT, ParameterGroup.all(0), _ -> {
                                throw new IllegalStateException("no memory");
                            })) {
                optimizer.putStates(new StateDict(), "");
                try (var step = model.step()) {
                    step.backward(net.loss(1, 3));
                    assertThatThrownBy(optimizer::step).hasMessage("no memory");
                }
                assertThatThrownBy(() -> optimizer.putStates(new StateDict(), ""))
                        .isInstanceOf(CheckpointException.class)
                        .hasMessageContaining("a failure has interrupted step 1 of the optimizer on rank 0");
                assertThatThrownBy(() -> optimizer.putParts(new StateDict(), "", ModuleTensors.parameters(net)))
                        .isInstanceOf(CheckpointException.class);
            }
        });
    }
}
