package io.jrun.train.fsdp;

/**
 * The options of fully sharded training.
 *
 * @param reshardAfterForward {@link #RESHARD}: a unit frees its parameters after its forward pass and gathers them
 *     again for the backward pass. {@link #KEEP}: a unit keeps them until its backward pass. A number N of 2 or more: a
 *     unit keeps a part of 1/N, and gathers from N neighbouring ranks in the backward pass; N divides the number of
 *     ranks.
 * @param prefetch number of units that are gathered ahead of the unit that computes
 * @param precision the types of computation and communication
 */
public record FsdpOptions(int reshardAfterForward, int prefetch, MixedPrecisionPolicy precision) {
    /** All ranks share a unit between its forward and its backward pass. */
    public static final int RESHARD = -1;

    /** A unit stays whole between its forward and its backward pass. */
    public static final int KEEP = 0;

    /** Reshards after the forward pass, gathers one unit ahead, in the type of the parameters: torch's defaults. */
    public static final FsdpOptions DEFAULT = new FsdpOptions(RESHARD, 1, MixedPrecisionPolicy.NONE);

    public FsdpOptions {
        if (reshardAfterForward < RESHARD || reshardAfterForward == 1) {
            throw new IllegalArgumentException(
                    "reshardAfterForward is RESHARD, KEEP, or a number of ranks of at least 2, not "
                            + reshardAfterForward);
        }
        if (prefetch < 0) {
            throw new IllegalArgumentException("prefetch must be 0 or more, not " + prefetch);
        }
    }

    /** These options with another treatment of a unit after its forward pass. */
    public FsdpOptions withReshardAfterForward(int choice) {
        return new FsdpOptions(choice, prefetch, precision);
    }

    /** These options with another number of units that are gathered ahead. */
    public FsdpOptions withPrefetch(int units) {
        return new FsdpOptions(reshardAfterForward, units, precision);
    }

    /** These options with other types. */
    public FsdpOptions withPrecision(MixedPrecisionPolicy policy) {
        return new FsdpOptions(reshardAfterForward, prefetch, policy);
    }
}
