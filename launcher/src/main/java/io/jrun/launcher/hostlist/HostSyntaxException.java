package io.jrun.launcher.hostlist;

import java.io.Serial;

/** A list of hosts is unreadable. The message names the text and the error, and is a part of one line for the user. */
public final class HostSyntaxException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    HostSyntaxException(String message) {
        super(message);
    }
}
