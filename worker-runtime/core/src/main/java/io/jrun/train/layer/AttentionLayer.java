package io.jrun.train.layer;

import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * Scaled dot-product attention (Vaswani et al. 2017, 3.2), without parameters. Shapes: B texts, S tokens, H query
 * heads, G key heads, E width of a head. A rank of tensor parallelism has some of the heads; the numbers follow from
 * the sizes of the tensors.
 */
public final class AttentionLayer extends Module {
    private final long headWidth;
    private final double queryFactor;
    private AttentionOperation operation = AttentionOperation.LOCAL;

    /**
     * Attention with heads of one width.
     *
     * @param headWidth E
     */
    public AttentionLayer(long headWidth) {
        this(headWidth, 1);
    }

    /** As {@link #AttentionLayer(long)}, with queries that are multiplied by a factor. */
    public AttentionLayer(long headWidth, double queryFactor) {
        this.headWidth = headWidth;
        this.queryFactor = queryFactor;
    }

    /** [B, S, H * E] as [B, H, S, E]. */
    public Tensor split(Tensor x_BSD) {
        return x_BSD.view(x_BSD.size(0), x_BSD.size(1), x_BSD.size(2) / headWidth, headWidth)
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
    public Tensor attend(Tensor q_BHSE, Tensor k_BGSE, Tensor v_BGSE, boolean isCausal) {
        Tensor queries = queryFactor == 1 ? q_BHSE : q_BHSE.mul(new Scalar(queryFactor));
        return operation
                .apply(queries, k_BGSE, v_BGSE, isCausal)
                .transpose(1, 2)
                .reshape(q_BHSE.size(0), q_BHSE.size(2), q_BHSE.size(1) * headWidth);
    }

    /** As {@link #attend} with queries, keys and values one after the other in the last dimension [B, S, 3 * H * E]. */
    public Tensor attendJoint(Tensor qkv_BSD, boolean isCausal) {
        long width = qkv_BSD.size(2) / 3;
        Tensor perHead = qkv_BSD.view(qkv_BSD.size(0), qkv_BSD.size(1), 3, width / headWidth, headWidth)
                .permute(2, 0, 3, 1, 4);
        // The backward pass of unbind is one copy, that of three selects is eight kernels.
        try (TensorVector parts = perHead.unbind(0)) {
            return attend(parts.get(0), parts.get(1), parts.get(2), isCausal);
        }
    }

    /** Replaces the computation. */
    public void setOperation(AttentionOperation newOperation) {
        operation = newOperation;
    }
}
