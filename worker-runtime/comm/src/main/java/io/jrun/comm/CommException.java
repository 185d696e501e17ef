package io.jrun.comm;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/**
 * The one exception of this module. The message says what happened, where (operation, group, rank, host) and what to do;
 * {@link #code()} is for programs.
 */
public final class CommException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    private final ErrorCode code;

    /** A failure without a lower-level cause. */
    public CommException(ErrorCode code, String message) {
        this(code, message, null);
    }

    /** A failure with the exception that revealed it. */
    public CommException(ErrorCode code, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    /** Which kind of failure this is. */
    public ErrorCode code() {
        return code;
    }
}
