package io.jrun.comm;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/**
 * The only exception type of this module. The message names the event, the place (operation, group, rank, host) and the
 * remedy. Programs read {@link #code()}.
 */
public final class CommException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    private final ErrorCode code;

    /** Makes a failure without a lower-level cause. */
    public CommException(ErrorCode code, String message) {
        this(code, message, null);
    }

    /** Makes a failure with its lower-level cause. */
    public CommException(ErrorCode code, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    /** Returns the kind of the failure. */
    public ErrorCode code() {
        return code;
    }
}
