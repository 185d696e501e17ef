package io.jrun.launcher.cli;

import java.io.Serial;

/** What the user asked for cannot be done; nothing was started. The message is one line with a suggestion; exit code 2. */
public final class UsageException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    /** With the line the user will read. */
    public UsageException(String message) {
        super(message);
    }
}
