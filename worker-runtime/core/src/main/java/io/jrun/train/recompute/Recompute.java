package io.jrun.train.recompute;

import io.jrun.train.module.BlockModel;
import io.jrun.train.module.ModelBlock;

/** Recomputation of built blocks. Call it before a block is fully sharded: a block is gathered before it is recomputed. */
public final class Recompute {
    private Recompute() {}

    /** The block keeps its input, and computes its activations again in the backward pass. */
    public static void apply(ModelBlock block) {
        block.surround(forward -> RecomputedSegment.of(block.name(), block.module(), forward)::forward);
    }

    /** Each block of a model is recomputed. */
    public static void apply(BlockModel model) {
        model.blocks().forEach(Recompute::apply);
    }
}
