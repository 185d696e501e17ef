package io.jrun.train.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.Libtorch;
import io.jrun.train.precision.Autocast;
import io.jrun.train.recompute.RecomputedSegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Gradients that are put off against those of one backward pass, bit for bit. */
class DeferredLinearTest {
    private static final int IN = 24;
    private static final int OUT = 40;

    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
    }

    private static Tensor normal(long seed, long... shape) {
        return torch.zeros(shape, new TensorOptions(torch.ScalarType.Float))
                .normal_(0, 1, new GeneratorOptional(generator(seed)));
    }

    private static Generator generator(long seed) {
        return torch.createCPUGenerator(seed);
    }

    @ParameterizedTest
    @CsvSource({"false,false,false", "true,false,false", "false,true,false", "true,true,true", "false,false,true"})
    void bothHalvesTogetherHaveTheBitsOfABackwardPass(boolean isTransposed, boolean recomputes, boolean bf16) {
        try (PointerScope _ = new PointerScope()) {
            List<Tensor> whole = gradients(isTransposed, recomputes, bf16, false);
            List<Tensor> split = gradients(isTransposed, recomputes, bf16, true);
            for (int i = 0; i < whole.size(); i++) {
                assertThat(split.get(i).equal(whole.get(i)))
                        .as("gradient %d", i)
                        .isTrue();
            }
        }
    }

    /** Gradients of input, first weight, first bias and second weight after two passes; the second map has no bias. */
    private static List<Tensor> gradients(boolean isTransposed, boolean recomputes, boolean bf16, boolean isSplit) {
        Tensor first = (isTransposed ? normal(1, IN, OUT) : normal(1, OUT, IN)).requires_grad_(true);
        Tensor bias = normal(2, OUT).requires_grad_(true);
        Tensor second = normal(3, IN, OUT).requires_grad_(true);
        UnaryOperator<Tensor> map = x ->
                DeferredLinear.linear(torch.gelu(DeferredLinear.linear(x, first, bias, isTransposed)), second, null);
        RecomputedSegment segment = new RecomputedSegment(
                "map",
                List.of(first, bias, second),
                inputs -> List.of(map.apply(inputs.getFirst())),
                io.jrun.train.recompute.DeterminismCheck.FORM);
        Tensor x = normal(4, 2, 5, IN).requires_grad_(true);
        for (int pass = 0; pass < 2; pass++) {
            try (DeferredGradients deferred = new DeferredGradients();
                    DeferredGradients.Scope _ = isSplit ? deferred.open() : () -> {}) {
                Tensor y;
                try (var _ = bf16 ? Autocast.cpuBfloat16() : null) {
                    y = recomputes ? segment.forward(x) : map.apply(x);
                }
                y.to(torch.ScalarType.Float)
                        .pow(new org.bytedeco.pytorch.Scalar(2))
                        .sum()
                        .backward();
                if (isSplit) {
                    assertThat(deferred.size()).isEqualTo(2);
                    assertThat(first.grad().defined()).isEqualTo(pass > 0);
                    deferred.compute();
                }
            }
        }
        List<Tensor> all = new ArrayList<>();
        List.of(x, first, bias, second).forEach(leaf -> all.add(leaf.grad()));
        return all;
    }

    @Test
    void anInputWithoutAGradientIsNoObstacle() {
        try (PointerScope _ = new PointerScope();
                DeferredGradients deferred = new DeferredGradients();
                DeferredGradients.Scope _ = deferred.open()) {
            Tensor weight = normal(1, OUT, IN).requires_grad_(true);
            Tensor x = normal(4, 7, IN);
            DeferredLinear.linear(x, weight, null).sum().backward();
            deferred.compute();
            assertThat(weight.grad().equal(torch.ones(7, OUT).t().mm(x))).isTrue();
        }
    }

    /** Both uses of the weight in a pass count, and a gradient of an earlier pass stays. */
    @Test
    void aWeightThatIsUsedTwiceGetsBothGradients() {
        try (PointerScope _ = new PointerScope()) {
            assertThat(ofSharedWeight(true).equal(ofSharedWeight(false))).isTrue();
        }
    }

    private static Tensor ofSharedWeight(boolean isSplit) {
        Tensor weight = normal(1, IN, IN).requires_grad_(true);
        for (int pass = 0; pass < 2; pass++) {
            try (DeferredGradients deferred = new DeferredGradients();
                    DeferredGradients.Scope _ = isSplit ? deferred.open() : () -> {}) {
                Tensor inner = torch.gelu(DeferredLinear.linear(normal(4L + pass, 7, IN), weight, null));
                DeferredLinear.linear(inner, weight, null).sum().backward();
                deferred.compute();
            }
        }
        return weight.grad();
    }
}
