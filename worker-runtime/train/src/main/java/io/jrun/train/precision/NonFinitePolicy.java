package io.jrun.train.precision;

/** The treatment of a step whose loss or gradients are not finite. */
public enum NonFinitePolicy {
    /** All ranks fail with {@link NonFiniteException}. */
    STOP,
    /** All ranks leave the parameters as they are and go on with the next step. */
    SKIP
}
