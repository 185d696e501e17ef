package io.jrun.train.reducer;

/** The gradients that a rank has after a reduction. Each rank has the whole parameters. */
public enum GradientPlacement {
    /** Each rank has the means of all gradients. */
    REPLICATED,
    /**
     * Each rank has the means where it updates the parameters, in the memory of whole gradients: stage 1 of ZeRO. The
     * rest of the memory has the rank's own gradients.
     */
    SHARDED_STATES,
    /** As {@link #SHARDED_STATES}, but a rank keeps no more than its means: stage 2 of ZeRO. */
    SHARDED_GRADIENTS
}
