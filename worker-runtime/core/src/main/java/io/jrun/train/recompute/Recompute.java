package io.jrun.train.recompute;

import io.jrun.train.module.BlockModel;

/** Recomputation of the blocks of a built model. */
public final class Recompute {
    private Recompute() {}

    /** Each block keeps its input, and computes its activations again in the backward pass. */
    public static void apply(BlockModel model) {
        apply(model, RecomputePolicy.ALL);
    }

    /**
     * The blocks that a policy chooses are recomputed. Call it before the model is fully sharded: a block is gathered
     * before its recomputation.
     */
    public static void apply(BlockModel model, RecomputePolicy policy) {
        model.wrapBlocks(policy.wrapper());
    }
}
