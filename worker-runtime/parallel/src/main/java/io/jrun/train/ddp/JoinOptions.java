package io.jrun.train.ddp;

/**
 * The work of a rank that has no inputs left while other ranks have more.
 *
 * @param divideByInitialSize the mean divides by the size of the group, also when some ranks have no inputs left, so
 *     that each sample keeps its weight; if false, by the number of ranks that have inputs
 * @param throwOnEarlyTermination all ranks throw when one rank has no inputs left and another rank has inputs
 */
public record JoinOptions(boolean divideByInitialSize, boolean throwOnEarlyTermination) {
    /** torch's defaults: divide by the size of the group, do not throw. */
    public static final JoinOptions DEFAULT = new JoinOptions(true, false);

    /** A copy that divides by the size of the group, or by the number of ranks that have inputs. */
    public JoinOptions withDivideByInitialSize(boolean newDivideByInitialSize) {
        return new JoinOptions(newDivideByInitialSize, throwOnEarlyTermination);
    }

    /** A copy that throws on early termination or does not. */
    public JoinOptions withThrowOnEarlyTermination(boolean newThrowOnEarlyTermination) {
        return new JoinOptions(divideByInitialSize, newThrowOnEarlyTermination);
    }
}
