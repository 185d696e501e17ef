package io.jrun.train.zero;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.World;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.optim.FusedAdamW;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.reducer.GradientPlacement;
import io.jrun.train.reducer.StageReducer;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Gradients of stages that no step has used, and passes that fail. */
class PartitionedStepsTest {
    private static final long ELEMENTS = 64;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static StageReducer stages(int stage, World world, Tensor vector) {
        StageReducer stages = new StageReducer(
                new MeshAxis("shard", world.group()),
                stage == 1 ? GradientPlacement.SHARDED_STATES : GradientPlacement.SHARDED_GRADIENTS);
        var _ = stages.takeOver(
                Map.of(0, List.of(new PipelineLayer("all", Map.of("vector", vector), x -> x))), _ -> false);
        return stages;
    }

    private static Tensor vector() {
        return torch.ones(ELEMENTS).set_requires_grad(true);
    }

    private static void backward(Tensor vector) {
        AutogradBridge.instance().backward(List.of(vector.sum()), List.of());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void zeroGradientsAlsoClearsSumsThatWereNotReduced(int stage) {
        LocalWorld.run(2, world -> {
            Tensor vector = vector();
            try (StageReducer stages = stages(stage, world, vector)) {
                stages.backward(() -> backward(vector), false);
                stages.reducer().zeroGradients();
                stages.backward(() -> backward(vector), true);
                stages.await();
                assertThat(ShardedTensor.of("vector", vector).gradient().equal(torch.ones(ELEMENTS / 2)))
                        .isTrue();
            }
        });
    }

    /** Otherwise the backward pass would compute with the values after the update, without an error. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aBackwardPassThatNeedsValuesOfBeforeAnUpdateIsRefused(int stage) {
        LocalWorld.run(2, world -> {
            Tensor vector = vector();
            try (StageReducer stages = stages(stage, world, vector);
                    ZeroOptimizer optimizer = ZeroOptimizer.of(
                            stages.reducer(),
                            FusedAdamW.DEFAULT,
                            ParameterGroup.all(0),
                            LearningRateSchedule.constant(0.01))) {
                for (int update = 0; update < 2; update++) {
                    Tensor later = vector.square().sum();
                    stages.backward(() -> backward(vector), true);
                    stages.await();
                    optimizer.step();
                    assertThatThrownBy(later::backward).hasMessageContaining("modified by an inplace operation");
                }
            }
        });
    }

    /** Rank 1 waits for a reduction that rank 0 does not begin. */
    @Test
    void aPassThatFailsStopsTheOtherRanksAndLaterPasses() {
        LocalWorld.run(2, world -> {
            Tensor vector = vector();
            try (StageReducer stages = stages(1, world, vector)) {
                if (world.rank() == 0) {
                    Runnable fails = () -> {
                        throw new IllegalStateException("no such token");
                    };
                    assertThatThrownBy(() -> stages.backward(fails, true)).hasMessage("no such token");
                    assertThatThrownBy(() -> stages.backward(() -> backward(vector), true))
                            .hasMessage("no such token");
                } else {
                    assertThatThrownBy(() -> {
                                stages.backward(() -> backward(vector), true);
                                stages.await();
                            })
                            .hasMessageContaining("rank 0: the backward pass failed")
                            .hasMessageContaining("no such token");
                }
            }
        });
    }
}
