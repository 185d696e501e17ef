package io.jrun.launcher.hostlist;

import java.io.Serial;

/** A list of hosts cannot be read. The message is the part of one line that says what is wrong, with the text. */
public final class HostSyntaxException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    HostSyntaxException(String message) {
        super(message);
    }
}
