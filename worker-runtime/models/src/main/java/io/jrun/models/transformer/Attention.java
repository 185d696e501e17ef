package io.jrun.models.transformer;

import io.jrun.train.precision.ScaledAttention;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Scaled dot-product attention (Vaswani et al. 2017, 3.2). Shapes: B texts, S tokens, H heads, E width of a head. Stateless. */
public final class Attention {
    private Attention() {}

    /** [B, S, H * E] as [B, H, S, E]. */
    public static Tensor split(Tensor x_BSD, long heads) {
        return x_BSD.view(x_BSD.size(0), x_BSD.size(1), heads, x_BSD.size(2) / heads)
                .transpose(1, 2);
    }

    /**
     * Attention of all heads, joined to [B, S, H * E].
     *
     * @param q_BHSE queries
     * @param k_BGSE keys; G divides H, and each key serves H / G neighbouring heads (grouped-query attention)
     * @param v_BGSE values
     * @param isCausal whether a position sees only itself and the positions before
     */
    public static Tensor attend(Tensor q_BHSE, Tensor k_BGSE, Tensor v_BGSE, boolean isCausal) {
        long queriesPerKey = q_BHSE.size(1) / k_BGSE.size(1);
        Tensor y_BHSE = ScaledAttention.apply(
                q_BHSE, repeat(k_BGSE, queriesPerKey), repeat(v_BGSE, queriesPerKey), 0, isCausal);
        return y_BHSE.transpose(1, 2).reshape(q_BHSE.size(0), q_BHSE.size(2), q_BHSE.size(1) * q_BHSE.size(3));
    }

    private static Tensor repeat(Tensor x_BGSE, long count) {
        return count == 1 ? x_BGSE : torch.repeat_interleave(x_BGSE, count, new LongOptional(1), new LongOptional());
    }
}
