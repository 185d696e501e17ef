package io.jrun.train.checkpoint;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** A checkpoint cannot be written, read or applied. The message names the file or tensor, what is wrong and what to do. */
public final class CheckpointException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    public CheckpointException(String message) {
        super(message);
    }

    public CheckpointException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
