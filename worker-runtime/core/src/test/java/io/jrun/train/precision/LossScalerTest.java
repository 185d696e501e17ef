package io.jrun.train.precision;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.train.Libtorch;
import io.jrun.train.mesh.ShardedTensor;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class LossScalerTest {
    @BeforeAll
    static void load() {
        Libtorch.load();
    }

    @Test
    void dividesGradientsByTheScale() {
        try (PointerScope _ = new PointerScope()) {
            LossScaler scaler = new LossScaler(ScalePolicy.DEFAULT, null);
            Tensor parameter = torch.ones(3).set_requires_grad(true);
            scaler.scale(parameter.sum()).backward();
            assertThat(parameter.grad().max().item_float()).isEqualTo(65_536f);
            assertThat(scaler.unscale(List.of(ShardedTensor.of("p", parameter))))
                    .isTrue();
            assertThat(parameter.grad().equal(torch.ones(3))).isTrue();
            assertThatThrownBy(() -> scaler.unscale(List.of(ShardedTensor.of("p", parameter))))
                    .hasMessageContaining("divided twice");
            scaler.update();
            scaler.scale(parameter.sum()).backward();
            assertThat(scaler.unscale(List.of(ShardedTensor.of("p", parameter))))
                    .isTrue();
        }
    }

    /** The second step would divide by a scale that the first step may have changed. */
    @Test
    void severalOptimizersShareOneUpdate() {
        try (PointerScope _ = new PointerScope()) {
            LossScaler scaler = new LossScaler(new ScalePolicy(4, 2, 0.5, 1), null);
            ShardedTensor first = ShardedTensor.of("first", torch.ones(3).set_requires_grad(true));
            ShardedTensor second = ShardedTensor.of("second", torch.ones(3).set_requires_grad(true));
            Runnable pass = () ->
                    scaler.scale(first.local().sum().add(second.local().sum())).backward();
            pass.run();
            boolean _ = scaler.step(List.of(first), () -> {});
            assertThatThrownBy(() -> scaler.step(List.of(second), () -> {}))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("no loss was scaled since the last update")
                    .hasMessageContaining("call unscale once, with the parameters of all optimizers");
            List.of(first, second).forEach(each -> each.local().mutable_grad().reset());
            pass.run();
            assertThat(scaler.unscale(List.of(first, second))).isTrue();
            scaler.update();
            assertThat(second.local().grad().equal(torch.ones(3))).isTrue();
        }
    }

    /** A stage of a pipeline, or a rank without inputs, has no loss of its own. */
    @Test
    void oneRankOfTheGroupScalesTheLossForAll() {
        LocalWorld.run(2, world -> {
            LossScaler scaler = new LossScaler(new ScalePolicy(4, 2, 0.5, 1), world.group());
            try (PointerScope _ = new PointerScope()) {
                Tensor parameter = torch.ones(3).set_requires_grad(true);
                List<ShardedTensor> parameters = List.of(ShardedTensor.of("p", parameter));
                if (world.rank() == 1) {
                    scaler.scale(parameter.sum()).backward();
                }
                assertThat(scaler.step(parameters, () -> {})).isTrue();
                assertThat(scaler.state().scale()).isEqualTo(8);
                assertThatThrownBy(() -> scaler.unscale(parameters))
                        .hasMessageContaining("no loss was scaled since the last update");
            }
        });
    }

    /** The loaded count of good steps decides when the scale grows. */
    @Test
    void aLoadedStateContinues() {
        try (PointerScope _ = new PointerScope()) {
            LossScaler scaler = new LossScaler(new ScalePolicy(4, 2, 0.5, 3), null);
            scaler.load(new ScalePolicy.State(32, 2));
            Tensor parameter = torch.ones(3).set_requires_grad(true);
            scaler.scale(parameter.sum()).backward();
            boolean _ = scaler.step(List.of(ShardedTensor.of("p", parameter)), () -> {});
            assertThat(scaler.state()).isEqualTo(new ScalePolicy.State(64, 0));
        }
    }

    @Test
    void oneRanksOverflowSkipsTheStepOnAllRanks() throws Exception {
        AtomicIntegerArray stepped = new AtomicIntegerArray(3);
        LocalWorld.run(3, world -> {
            LossScaler scaler = new LossScaler(ScalePolicy.DEFAULT, world.group());
            for (int step = 0; step < 2; step++) {
                try (PointerScope _ = new PointerScope()) {
                    Tensor parameter = torch.ones(1).set_requires_grad(true);
                    float factor = step == 0 && world.rank() == 1 ? Float.MAX_VALUE : 1;
                    scaler.scale(parameter
                                    .mul(new org.bytedeco.pytorch.Scalar(factor))
                                    .sum())
                            .backward();
                    int bit = 1 << step;
                    boolean _ = scaler.step(
                            List.of(ShardedTensor.of("p", parameter)), () -> stepped.addAndGet(world.rank(), bit));
                }
            }
            assertThat(scaler.scale()).isEqualTo(32_768f);
        });
        assertThat(stepped.toString()).isEqualTo("[2, 2, 2]");
    }
}
