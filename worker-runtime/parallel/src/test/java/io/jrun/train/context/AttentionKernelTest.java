package io.jrun.train.context;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.Libtorch;
import io.jrun.train.ParallelTraining;
import io.jrun.train.context.AttentionKernel.Gradients;
import io.jrun.train.context.AttentionKernel.Result;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The kernels that run on CPUs, compared with each other on a block of a larger attention. */
class AttentionKernelTest {
    @BeforeAll
    static void load() {
        Libtorch.setThreads(1);
        torch.manual_seed(3);
    }

    private static Tensor random(torch.ScalarType type, long... sizes) {
        return torch.randn(sizes, new TensorOptions(type));
    }

    /** The logarithms of the whole rows are larger than those of the block, as in a ring. */
    @ParameterizedTest
    @CsvSource({"Double, true, 7, 7", "Double, false, 5, 9", "Float, true, 33, 33", "Float, false, 8, 3"})
    void plainAttentionEqualsLibtorchsKernel(torch.ScalarType type, boolean isCausal, long rows, long keys) {
        Tensor q = random(type, 2, 3, rows, 6);
        Tensor k = random(type, 2, 3, keys, 6);
        Tensor v = random(type, 2, 3, keys, 6);
        Tensor gradient = random(type, 2, 3, rows, 6);
        AttentionKernel fused = AttentionKernel.of(q);
        AttentionKernel plain = new PlainAttentionKernel();
        assertThat(fused).isInstanceOf(CpuAttentionKernel.class);
        Result expected = fused.forward(q, k, v, isCausal);
        Result found = plain.forward(q, k, v, isCausal);
        assertClose("output", found.output(), expected.output(), type);
        assertClose("logarithms", found.logSums(), expected.logSums(), type);

        Tensor whole = random(type, 2, 3, rows, 6);
        Tensor logSums = expected.logSums().add(random(type, 2, 3, rows).abs());
        Gradients expectedGradients = fused.backward(gradient, q, k, v, whole, logSums, isCausal);
        Gradients foundGradients = plain.backward(gradient, q, k, v, whole, logSums, isCausal);
        assertClose("queries", foundGradients.queries(), expectedGradients.queries(), type);
        assertClose("keys", foundGradients.keys(), expectedGradients.keys(), type);
        assertClose("values", foundGradients.values(), expectedGradients.values(), type);
    }

    private static void assertClose(String what, Tensor found, Tensor expected, torch.ScalarType type) {
        assertThat(ParallelTraining.difference(found, expected))
                .as(what)
                .isLessThan(type == torch.ScalarType.Double ? 1e-12 : 1e-5);
    }
}
