package io.jrun.launcher.flight;

import java.io.Serial;

/** A folder has no readable dumps. The message gives the reason in one line. */
public final class DumpException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    DumpException(String message) {
        super(message);
    }
}
