package io.jrun.train.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.mesh.Parameters;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/**
 * Golden values: torch 2.13, AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9)), float32, as shortest
 * decimals.
 */
class ExponentialAverageTest {
    private static final float[] GOLDEN = {1.0f, 1.2f, 1.58f, 2.122f};

    @Test
    void averagesEqualThoseOfTorch() {
        Tensor weight = torch.full(new long[] {3}, new Scalar(-1.0)).requires_grad_(true);
        try (ExponentialAverage average = new ExponentialAverage(Parameters.of(Map.of("w", weight)), 0.9)) {
            for (int update = 0; update < GOLDEN.length; update++) {
                weight.detach().fill_(new Scalar(1.0 + 2 * update));
                average.update();
                assertThat(value(average)).as("update " + update).isEqualTo(GOLDEN[update]);
            }
            average.swap();
            assertThat(weight.detach().data_ptr_float().get(0)).isEqualTo(GOLDEN[3]);
            assertThat(value(average)).isEqualTo(7f);
            average.swap();

            try (ExponentialAverage resumed = new ExponentialAverage(Parameters.of(Map.of("w", weight)), 0.9)) {
                resumed.load(average.averages(), average.updates());
                weight.detach().fill_(new Scalar(9.0));
                resumed.update();
                average.update();
                assertThat(value(resumed)).isEqualTo(value(average));
                assertThatThrownBy(() -> resumed.load(Map.of("w", torch.zeros(2)), 1))
                        .hasMessageContaining("'w' is Float[2]; it must be Float[3]");
            }
        }
    }

    private static float value(ExponentialAverage average) {
        return Objects.requireNonNull(average.averages().get("w"))
                .data_ptr_float()
                .get(2);
    }
}
