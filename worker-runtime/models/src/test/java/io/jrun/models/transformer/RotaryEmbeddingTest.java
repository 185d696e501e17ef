package io.jrun.models.transformer;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.models.transformer.RotaryEmbedding.Pairs;
import io.jrun.train.Libtorch;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RotaryEmbeddingTest {
    private static final int WIDTH = 8;
    private static final double THETA = 10_000;

    /** An angle of float32 has an error of up to 1e-2 at the last of these positions. */
    private static final long[] POSITIONS = {0, 1, 2, 31, 4095, 100_003};

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    @ParameterizedTest
    @CsvSource({"Double,HALVES,1e-10", "Double,INTERLEAVED,1e-10", "Float,HALVES,1e-2", "BFloat16,HALVES,3e-2"})
    void turnsEachPairByItsAngle(torch.ScalarType type, Pairs pairs, double tolerance) {
        try (PointerScope _ = new PointerScope()) {
            double[] x = new double[POSITIONS.length * WIDTH];
            for (int i = 0; i < x.length; i++) {
                x[i] = (i * 7 % 16) / 8.0 - 1; // Numbers that each type has.
            }
            Tensor vectors =
                    Tensor.create(x).view(1, 1, POSITIONS.length, WIDTH).to(type);
            Tensor turned =
                    new RotaryEmbedding(WIDTH, THETA, pairs, Optional.empty()).turn(vectors, Tensor.create(POSITIONS));
            assertThat(turned.scalar_type().intern()).isEqualTo(type);
            assertThat(TensorMemory.segment(turned.to(torch.ScalarType.Double).contiguous())
                            .toArray(ValueLayout.JAVA_DOUBLE))
                    .usingComparatorWithPrecision(tolerance)
                    .containsExactly(turned(x, pairs));
        }
    }

    private static double[] turned(double[] x, Pairs pairs) {
        double[] result = new double[x.length];
        for (int position = 0; position < POSITIONS.length; position++) {
            for (int pair = 0; pair < WIDTH / 2; pair++) {
                boolean isHalves = pairs == Pairs.HALVES;
                int first = position * WIDTH + (isHalves ? pair : 2 * pair);
                int second = first + (isHalves ? WIDTH / 2 : 1);
                double angle = POSITIONS[position] * Math.pow(THETA, -2.0 * pair / WIDTH);
                result[first] = x[first] * Math.cos(angle) - x[second] * Math.sin(angle);
                result[second] = x[second] * Math.cos(angle) + x[first] * Math.sin(angle);
            }
        }
        return result;
    }
}
