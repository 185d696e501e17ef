package io.jrun.train.precision;

import java.io.Serial;

/**
 * A loss, a gradient or a parameter is not finite. The message names the rank, the step and the parameter. All ranks get
 * the same message.
 */
public final class NonFiniteException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    NonFiniteException(String message) {
        super(message);
    }

    /**
     * The exception of a value that is not finite.
     *
     * @param place rank, step and what is not finite, as a sentence without an end
     */
    public static NonFiniteException at(String place) {
        return new NonFiniteException(place
                + ". Lower the learning rate, clip gradients, or check the samples of this step. The policy SKIP skips such"
                + " steps.");
    }
}
