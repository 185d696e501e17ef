package io.jrun.train.ddp;

/**
 * The work of a rank that has no inputs left while other ranks have more.
 *
 * @param divideByInitialSize the mean divides by the size of the group, also when some ranks have no inputs left, so that
 *     each sample keeps its weight; otherwise by the number of ranks that have inputs
 * @param throwOnEarlyTermination all ranks throw as soon as one rank has no inputs left while others have
 */
public record JoinOptions(boolean divideByInitialSize, boolean throwOnEarlyTermination) {
    /** torch's defaults: divide by the size of the group, do not throw. */
    public static final JoinOptions DEFAULT = new JoinOptions(true, false);

    /** The same, dividing by another number. */
    public JoinOptions withDivideByInitialSize(boolean newDivideByInitialSize) {
        return new JoinOptions(newDivideByInitialSize, throwOnEarlyTermination);
    }

    /** The same with or without throwing. */
    public JoinOptions withThrowOnEarlyTermination(boolean newThrowOnEarlyTermination) {
        return new JoinOptions(divideByInitialSize, newThrowOnEarlyTermination);
    }
}
