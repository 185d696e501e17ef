package io.jrun.trainer.arguments;

import java.io.Serial;

/** Unusable arguments or data. The message is one line that says what to do; the exit code is 2. */
public final class InvalidArgumentException extends IllegalArgumentException {
    @Serial
    private static final long serialVersionUID = 1L;

    public InvalidArgumentException(String message) {
        super(message);
    }
}
