package io.jrun.train.recompute;

/** The comparison of a recomputed segment with its first computation. */
public enum DeterminismCheck {
    /** No comparison. */
    NONE,
    /** The outputs must have the same number, types and shapes: torch's default. */
    FORM,
    /** The outputs must have the same bits. Keeps the outputs in memory until the backward pass. */
    BITS
}
