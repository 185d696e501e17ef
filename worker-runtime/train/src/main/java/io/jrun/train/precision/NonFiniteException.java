package io.jrun.train.precision;

import java.io.Serial;

/**
 * A loss or a gradient is not finite. The message names the rank, the step and the parameter. All ranks get the same
 * message.
 */
public final class NonFiniteException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    NonFiniteException(String message) {
        super(message);
    }
}
