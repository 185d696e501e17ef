package io.jrun.examples.gpt;

import java.io.Serial;

/** Unusable arguments or data. The message is one line that says what to do; the exit code is 2. */
final class InvalidArgumentException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    InvalidArgumentException(String message) {
        super(message);
    }
}
