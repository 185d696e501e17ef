package io.jrun.train.precision;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.device.ComputeCapability;
import io.jrun.train.precision.Float8Product.Accumulation;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class Float8LinearTest {
    private PointerScope scope;

    @BeforeEach
    void open() {
        Libtorch.setThreads(1);
        scope = new PointerScope();
        torch.manual_seed(2);
    }

    @AfterEach
    void close() {
        scope.close();
    }

    @Test
    void aScaleFollowsFromTheLargestMagnitudeOfTheHistory() {
        Float8Scaling scaling = new Float8Scaling(Float8.E4M3, 3, 0);
        assertThat(scaling.scale()).isEqualTo(1f);
        float[] magnitudes = {2, 7, 1, 1, 1, 0, 0, 0, Float.POSITIVE_INFINITY, Float.NaN, 4};
        float[] scales = new float[magnitudes.length];
        for (int i = 0; i < magnitudes.length; i++) {
            scaling.record(Tensor.create(magnitudes[i]));
            scales[i] = scaling.scale();
        }
        assertThat(scales).containsExactly(224, 64, 64, 64, 448, 448, 448, 448, 448, 448, 448);
        assertThat(scaling.history()).containsExactly(4, Float.NaN, Float.POSITIVE_INFINITY);
        Float8Scaling resumed = new Float8Scaling(Float8.E4M3, 3, 1);
        resumed.load(scaling.scale(), new float[] {4, 0, 0});
        resumed.record(Tensor.create(2f));
        assertThat(resumed.scale()).as("with a margin of one bit").isEqualTo(56f);
        assertThatThrownBy(() -> resumed.load(1, new float[2])).hasMessageContaining("2 magnitudes");
        Float8Scaling denormal = new Float8Scaling(Float8.E4M3, 1, 0);
        denormal.record(Tensor.create(Float.MIN_VALUE));
        assertThat(denormal.scale()).isEqualTo(Float.MAX_VALUE);
    }

    @Test
    void theScaleOfTheUseBeforeIsTakenBeforeRoundingAndGivenBackAfter() {
        Float8Scaling scaling = new Float8Scaling(Float8.E4M3, 1, 0);
        Tensor small = Tensor.create(new float[] {1e-4f, -1e-4f}, 1, 2);
        assertThat(floats(scaling.encode(small).numbers())).as("a scale of 1").containsExactly(0, -0f);
        Float8Tensor found = scaling.encode(small);
        assertThat(floats(found.numbers())).containsExactly(448, -448);
        assertThat(found.inverseScale().item_float()).isEqualTo(1 / (448f / 1e-4f));
    }

    /** The operator, the layouts and the fillings that a GPU runs, on the CPU: products of all pairs of formats. */
    @ParameterizedTest
    @CsvSource({
        "E4M3, E4M3, 32, 64, 48",
        "E5M2, E4M3, 32, 64, 48",
        "E4M3, E4M3, 5, 17, 3",
        "E5M2, E4M3, 1, 40, 33",
        "E5M2, E4M3, 48, 7, 16"
    })
    void theProductOfAGpuEqualsTheProductInFloat32(Float8 first, Float8 second, long rows, long columns, long others) {
        Float8Tensor a = encoded(first, rows, columns);
        Float8Tensor b = encoded(second, columns, others).transposed();
        Tensor expected = Float8Product.inFloat32(a, b);
        for (Accumulation accumulation : Accumulation.values()) {
            Tensor found = Float8Product.scaled(a, b, accumulation);
            assertThat(TensorMemory.sizes(found)).containsExactly(rows, others);
            assertThat(found.scalar_type().intern()).isEqualTo(torch.ScalarType.Float);
            assertThat(relativeError(found, expected)).isLessThan(1e-6);
        }
    }

    /** libtorch refuses the operator on such a GPU. */
    @Test
    void aGpuBefore89EmulatesTheProducts() {
        assertThat(Float8Product.isOlder(Optional.of(new ComputeCapability(8, 6))))
                .isTrue();
        assertThat(Float8Product.isOlder(Optional.of(new ComputeCapability(8, 9))))
                .isFalse();
        assertThat(Float8Product.isOlder(Optional.of(new ComputeCapability(9, 0))))
                .isFalse();
        assertThat(Float8Product.isOlder(Optional.empty())).as("unknown").isFalse();
    }

    /** libtorch's CPU takes all sizes. A GPU refuses sizes that are no multiples of 16. */
    @Test
    void sizesThatAGpuRefusesAreFilledUpWithZeros() {
        Tensor codes = encoded(Float8.E5M2, 3, 20).codes();
        Tensor right = Float8Product.filled(codes, Float8Product.SIZE_MULTIPLE);
        Tensor left = Float8Product.filled(codes, 1);
        assertThat(TensorMemory.sizes(right)).containsExactly(16, 32);
        assertThat(TensorMemory.sizes(left)).containsExactly(3, 32);
        assertThat(right.is_contiguous()).isTrue();
        assertThat(right.scalar_type().intern()).isEqualTo(torch.ScalarType.Float8_e5m2);
        double whole = codes.to(torch.ScalarType.Double).abs().sum().item_double();
        assertThat(right.to(torch.ScalarType.Double).abs().sum().item_double()).isEqualTo(whole);
    }

    private static Float8Tensor encoded(Float8 format, long rows, long columns) {
        Float8Scaling scaling = new Float8Scaling(format, 1, 0);
        Tensor values = torch.randn(rows, columns).mul(new Scalar(0.03));
        scaling.encode(values);
        return scaling.encode(values);
    }

    /**
     * Operands that 8 bits can hold, with the scales of the step before: the products are exact, and the formats
     * differ.
     */
    @Test
    void operandsAreRoundedToTheFormatsOfTheirPass() {
        Float8Linear linear = new Float8Linear(4, 0);
        Tensor weight = torch.eye(2).set_requires_grad(true);
        Tensor x = Tensor.create(new float[] {1.0625f, 1.125f}, 1, 2).set_requires_grad(true);
        Tensor y = linear.apply(x, weight);
        assertThat(floats(y)).as("e4m3 has steps of 1/8, ties to even").containsExactly(1, 1.125f);
        y.backward(
                Tensor.create(new float[] {1.125f, 1.25f}, 1, 2),
                new org.bytedeco.pytorch.BoolOptional(),
                false,
                new org.bytedeco.pytorch.TensorArrayRefOptional());
        assertThat(floats(x.grad())).as("e5m2 has steps of 1/4, ties to even").containsExactly(1, 1.25f);
        assertThat(floats(weight.grad())).containsExactly(1, 1.125f, 1.25f, 1.40625f);
        assertThat(linear.scalings().stream().map(Float8Scaling::scale))
                .containsExactly(448f / 1.125f, 448f, 57_344f / 1.25f);
        Float8Linear resumed = new Float8Linear(4, 0);
        resumed.load(linear.state());
        assertThat(resumed.scalings()).hasToString(linear.scalings().toString());
        assertThatThrownBy(() -> new Float8Linear(5, 0).load(linear.state())).hasMessageContaining("4 magnitudes");
    }

    /** The relative error of an e4m3 number is at most 1/16; with delayed scales a small tensor is not lost. */
    @Test
    void smallTensorsKeepTheirPrecisionThroughTheScales() {
        Float8Linear linear = new Float8Linear();
        Tensor x = torch.randn(3, 8, 32).mul(new Scalar(1e-4)).set_requires_grad(true);
        Tensor weight = torch.randn(16, 32).mul(new Scalar(1e-3)).set_requires_grad(true);
        Tensor first = linear.apply(x, weight);
        assertThat(first.abs().max().item_float())
                .as("no scale yet: all is rounded to 0")
                .isZero();
        Tensor found = linear.apply(x, weight);
        Tensor exact = torch.linear(x, weight);
        assertThat(relativeError(found, exact)).isBetween(0.001, 0.06);
        AutogradBridge.instance().backward(List.of(found.sum()), List.of());
        AutogradBridge.instance().backward(List.of(linear.apply(x, weight).sum()), List.of());
        assertThat(x.grad().defined()).isTrue();
        assertThat(weight.grad().sizes().vec().get()).containsExactly(16, 32);
    }

    private static double relativeError(Tensor found, Tensor exact) {
        return found.sub(exact).norm().item_double() / exact.norm().item_double();
    }

    /** Least squares in 8 bits comes near the solution. */
    @Test
    void gradientDescentInEightBitsConverges() {
        Float8Linear linear = new Float8Linear(16, 0);
        Tensor solution = torch.randn(4, 8);
        Tensor weight = torch.zeros(4, 8).set_requires_grad(true);
        double loss = 0;
        for (int step = 0; step < 150; step++) {
            try (PointerScope _ = new PointerScope()) {
                Tensor x = torch.randn(64, 8);
                Tensor squares = linear.apply(x, weight)
                        .sub(torch.linear(x, solution))
                        .pow(new Scalar(2))
                        .mean();
                AutogradBridge.instance().backward(List.of(squares), List.of());
                loss = squares.item_double();
                try (NoGradGuard _ = new NoGradGuard()) {
                    weight.sub_(weight.grad().mul(new Scalar(0.5)));
                    weight.mutable_grad().zero_();
                }
            }
        }
        assertThat(loss).isLessThan(0.02);
    }

    private static float[] floats(Tensor tensor) {
        return TensorMemory.segment(tensor.detach().contiguous()).toArray(ValueLayout.JAVA_FLOAT);
    }
}
