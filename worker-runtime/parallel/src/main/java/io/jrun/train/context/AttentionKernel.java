package io.jrun.train.context;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Attention with the logarithm of the sum of exponentials of each row, and its backward pass. Queries and keys have
 * equally many heads. With {@code isCausal}, query i sees the keys 0 to i, and there are as many queries as keys. The
 * operands have the type of {@link #operand}.
 */
interface AttentionKernel {
    /** Outputs [B, H, S, E], and the logarithms [B, H, S] of the sums, of float32 or float64. */
    record Result(Tensor output, Tensor logSums) {}

    /** Gradients of the operands. */
    record Gradients(Tensor queries, Tensor keys, Tensor values) {}

    /** The kernel for the type of the queries [B, H, S, E], the size of their heads and their device. */
    static AttentionKernel of(Tensor queries) {
        if (!queries.is_cuda()) {
            return new CpuAttentionKernel();
        }
        if (FlashAttentionKernel.takes(queries)) {
            return new FlashAttentionKernel(queries.scalar_type().intern());
        }
        boolean isFused = queries.scalar_type().intern() != torch.ScalarType.Double
                && queries.size(3) % CudaAttentionKernel.HEAD_MULTIPLE == 0;
        return isFused ? new CudaAttentionKernel() : new PlainAttentionKernel();
    }

    /** A tensor in the type that the kernel takes: float64 stays, and all else is float32. */
    default Tensor operand(Tensor x) {
        return wide(x);
    }

    /** A float32 copy for types of fewer bits, else the tensor itself. */
    static Tensor wide(Tensor x) {
        return x.to(wideType(x));
    }

    /** The type in which results of blocks are added: float64 for float64, else float32. */
    static torch.ScalarType wideType(Tensor x) {
        return x.element_size() < Float.BYTES
                ? torch.ScalarType.Float
                : x.scalar_type().intern();
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
