package io.jrun.launcher.flight;

import java.io.Serial;

/** There are no readable dumps where they were looked for; the message says so in one line. */
public final class DumpException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    DumpException(String message) {
        super(message);
    }
}
