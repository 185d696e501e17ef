package io.jrun.train.module;

/**
 * A model of blocks. Code can be put around the forward pass of each block when the model is built: recomputation, or
 * the gather of the parameters of a block.
 */
public interface BlockModel {
    /**
     * Puts code around each block, in their order. Call it before the first forward pass. The code of a later call is
     * outside of the code of an earlier call.
     */
    void wrapBlocks(ModuleWrapper wrapper);
}
