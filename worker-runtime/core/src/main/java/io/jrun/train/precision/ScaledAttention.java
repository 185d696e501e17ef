package io.jrun.train.precision;

import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;

/** Scaled dot-product attention in the type that is fast on the device. */
public final class ScaledAttention {
    private ScaledAttention() {}

    /**
     * Attention without a mask, or with the causal mask. On the CPU the method computes bfloat16 and float16 operands
     * in float32, also in an autocast scope: libtorch without MKL has only a plain loop for the products of attention.
     *
     * @param queries [batch, heads, sequence, width of a head], like {@code keys} and {@code values}
     * @param dropout probability, 0 for none
     * @return a tensor of the shape and type of {@code queries}
     */
    public static Tensor apply(Tensor queries, Tensor keys, Tensor values, double dropout, boolean isCausal) {
        if (!queries.is_cpu()) {
            return attention(queries, keys, values, dropout, isCausal);
        }
        try (Autocast _ = Autocast.off(torch.DeviceType.CPU)) {
            torch.ScalarType type = queries.scalar_type().intern();
            return attention(wide(queries), wide(keys), wide(values), dropout, isCausal)
                    .to(type);
        }
    }

    /** A float32 copy for types of fewer bits, else the tensor itself. */
    private static Tensor wide(Tensor operand) {
        return operand.element_size() < Float.BYTES ? operand.to(torch.ScalarType.Float) : operand;
    }

    private static Tensor attention(Tensor queries, Tensor keys, Tensor values, double dropout, boolean isCausal) {
        try (TensorOptional mask = new TensorOptional();
                DoubleOptional scale = new DoubleOptional()) {
            return torch.scaled_dot_product_attention(queries, keys, values, mask, dropout, isCausal, scale, false);
        }
    }
}
