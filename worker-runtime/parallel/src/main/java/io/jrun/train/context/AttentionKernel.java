package io.jrun.train.context;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Attention with the logarithm of the sum of exponentials of each row, and its backward pass. Types: float32 and
 * float64. Queries and keys have equally many heads. With {@code isCausal}, query i sees the keys 0 to i.
 */
interface AttentionKernel {
    /** Outputs [B, H, S, E] and the logarithms [B, H, S] of the sums. */
    record Result(Tensor output, Tensor logSums) {}

    /** Gradients of the operands. */
    record Gradients(Tensor queries, Tensor keys, Tensor values) {}

    /** The kernel for the type, the size of the heads and the device on which libtorch computes. */
    static AttentionKernel of(Tensor queries) {
        if (!queries.is_cuda()) {
            return new CpuAttentionKernel();
        }
        boolean isFused = queries.scalar_type().intern() == torch.ScalarType.Float
                && queries.size(3) % CudaAttentionKernel.HEAD_MULTIPLE == 0;
        return isFused ? new CudaAttentionKernel() : new PlainAttentionKernel();
    }

    Result forward(Tensor queries, Tensor keys, Tensor values, boolean isCausal);

    /**
     * The gradients of one block of a larger attention: the arguments are the output and the logarithms of the sums of
     * whole rows, so the probabilities of the block equal those of the whole attention.
     */
    Gradients backward(
            Tensor gradient,
            Tensor queries,
            Tensor keys,
            Tensor values,
            Tensor output,
            Tensor logSums,
            boolean isCausal);
}
