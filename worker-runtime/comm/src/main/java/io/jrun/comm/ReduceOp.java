package io.jrun.comm;

/** How contributions of several ranks become one element. Floating point NaN propagates through every operator. */
public enum ReduceOp {
    /** Sum over ranks. */
    SUM,
    /** Sum over ranks divided by the group size; integer types divide towards zero. */
    AVG,
    /** Smallest contribution. */
    MIN,
    /** Largest contribution. */
    MAX,
    /** Product over ranks. */
    PROD
}
