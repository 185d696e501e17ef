package io.jrun.train.precision;

/** The treatment of a step whose loss or gradients are not finite. */
public enum NonFinitePolicy {
    /** All ranks fail with {@link NonFiniteException}. */
    STOP,
    /** All ranks keep their parameters and continue with the next step. */
    SKIP
}
