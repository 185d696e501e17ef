package io.jrun.train.layer;

import io.jrun.train.precision.ScaledAttention;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The computation of {@link AttentionLayer}s. Shapes: B texts, H query heads, G key heads, S tokens, E width of a head.
 */
@FunctionalInterface
public interface AttentionOperation {
    /** Each rank alone. */
    AttentionOperation LOCAL = (q_BHSE, k_BGSE, v_BGSE, isCausal) -> {
        long queriesPerKey = q_BHSE.size(1) / k_BGSE.size(1);
        return ScaledAttention.apply(
                q_BHSE, repeatHeads(k_BGSE, queriesPerKey), repeatHeads(v_BGSE, queriesPerKey), 0, isCausal);
    };

    /**
     * Scaled dot-product attention.
     *
     * @param k_BGSE G divides H, and each key head serves H / G neighbouring query heads (grouped-query attention)
     * @param isCausal whether a position sees only itself and the positions before
     * @return [B, H, S, E]
     */
    Tensor apply(Tensor q_BHSE, Tensor k_BGSE, Tensor v_BGSE, boolean isCausal);

    /** Each head {@code count} times, beside one another. */
    static Tensor repeatHeads(Tensor x_BGSE, long count) {
        return count == 1 ? x_BGSE : torch.repeat_interleave(x_BGSE, count, new LongOptional(1), new LongOptional());
    }
}
