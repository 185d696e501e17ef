package io.jrun.launcher.layout;

import java.io.Serial;

/** The nodes lack room for the requested workers. The message is one line for the user. */
public final class LayoutException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    LayoutException(String message) {
        super(message);
    }
}
