package io.jrun.train.context;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.Libtorch;
import io.jrun.train.ParallelTraining;
import io.jrun.train.context.AttentionKernel.Gradients;
import io.jrun.train.context.AttentionKernel.Result;
import java.util.ArrayList;
import java.util.List;
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

    /** The blocks of the second of two ranks, with two query heads for each key head. */
    @ParameterizedTest
    @CsvSource({"Double", "Float"})
    void theBlocksOfARingAreMergedAlikeWithEachKernel(torch.ScalarType type) {
        Tensor q = random(type, 2, 4, 8, 6);
        Tensor gradient = random(type, 2, 4, 8, 6);
        Tensor[] keysValues = {random(type, 2, 2, 2, 8, 6), random(type, 2, 2, 2, 8, 6)};
        SequenceSplit split = new SequenceSplit(2, true);
        List<Tensor> usual = ring(new CpuAttentionKernel(), split, q, keysValues, gradient);
        List<Tensor> plain = ring(new PlainAttentionKernel(), split, q, keysValues, gradient);
        for (int i = 0; i < usual.size(); i++) {
            assertClose("result " + i, plain.get(i), usual.get(i), type);
        }
    }

    /** libtorch's attention on the CPU with operands of 16 bits, as flash attention on a GPU has them. */
    private record HalfKernel(torch.ScalarType type) implements AttentionKernel {
        private static final CpuAttentionKernel CPU = new CpuAttentionKernel();

        @Override
        public Tensor operand(Tensor x) {
            return x.to(type);
        }

        @Override
        public Result forward(Tensor queries, Tensor keys, Tensor values, boolean isCausal) {
            List.of(queries, keys, values).forEach(this::requireType);
            return CPU.forward(queries, keys, values, isCausal);
        }

        @Override
        public Gradients backward(
                Tensor gradient,
                Tensor queries,
                Tensor keys,
                Tensor values,
                Tensor output,
                Tensor logSums,
                boolean isCausal) {
            List.of(gradient, queries, keys, values, output).forEach(this::requireType);
            assertThat(logSums.scalar_type().intern()).isEqualTo(torch.ScalarType.Float);
            return CPU.backward(gradient, queries, keys, values, output, logSums, isCausal);
        }

        private void requireType(Tensor operand) {
            assertThat(operand.scalar_type().intern()).isEqualTo(type);
        }
    }

    /** Operands of 16 bits reach the kernel as they are. The blocks are merged and added in float32. */
    @ParameterizedTest
    @CsvSource({"BFloat16, 0.02", "Half, 0.003"})
    void blocksOf16BitsAreMergedInFloat32(torch.ScalarType type, double tolerance) {
        Tensor q = random(type, 2, 4, 8, 8);
        Tensor gradient = random(type, 2, 4, 8, 8);
        Tensor[] keysValues = {random(type, 2, 2, 2, 8, 8), random(type, 2, 2, 2, 8, 8)};
        SequenceSplit split = new SequenceSplit(2, true);
        List<Tensor> wide = ring(new CpuAttentionKernel(), split, q, keysValues, gradient);
        List<Tensor> found = ring(new HalfKernel(type), split, q, keysValues, gradient);
        for (int i = 0; i < wide.size(); i++) {
            assertThat(found.get(i).scalar_type().intern()).isEqualTo(torch.ScalarType.Float);
            double largest = wide.get(i).abs().max().item_double();
            assertThat(ParallelTraining.difference(found.get(i), wide.get(i)) / largest)
                    .as("result " + i)
                    .isLessThan(tolerance);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "BFloat16, 64, true",
        "Half, 256, true",
        "BFloat16, 8, true",
        "BFloat16, 20, false",
        "Half, 264, false",
        "Float, 64, false",
        "Double, 64, false"
    })
    void flashAttentionTakesHeadsOf16Bits(torch.ScalarType type, long headSize, boolean isTaken) {
        assertThat(FlashAttentionKernel.takes(type, headSize)).isEqualTo(isTaken);
    }

    /** The output, the logarithms, and the gradients of the queries and of each rank's keys and values. */
    private static List<Tensor> ring(
            AttentionKernel kernel, SequenceSplit split, Tensor q, Tensor[] keysValues, Tensor gradient) {
        int self = 1;
        BlockAttention attention = BlockAttention.begin(kernel, q);
        for (int owner = self; owner >= 0; owner--) {
            attention.add(keysValues[owner], split.blocks(self, owner, q.size(2), true));
        }
        List<Tensor> results = new ArrayList<>(List.of(attention.output(), attention.logSums()));
        attention = BlockAttention.ended(kernel, q, attention.output(), attention.logSums());
        Tensor ofQueries = attention.zerosLike(q);
        results.add(ofQueries);
        for (int owner = self; owner >= 0; owner--) {
            Tensor part = attention.zerosLike(keysValues[owner]);
            attention.addGradients(
                    attention.operand(gradient),
                    keysValues[owner],
                    split.blocks(self, owner, q.size(2), true),
                    ofQueries,
                    part);
            results.add(part);
        }
        return results;
    }

    private static void assertClose(String what, Tensor found, Tensor expected, torch.ScalarType type) {
        assertThat(ParallelTraining.difference(found, expected))
                .as(what)
                .isLessThan(type == torch.ScalarType.Double ? 1e-12 : 1e-5);
    }
}
