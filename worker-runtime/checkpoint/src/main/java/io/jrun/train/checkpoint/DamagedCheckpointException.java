package io.jrun.train.checkpoint;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** A checkpoint cannot be read: files are missing, damaged or not readable. Another checkpoint may be whole. */
public final class DamagedCheckpointException extends CheckpointException {
    @Serial
    private static final long serialVersionUID = 1L;

    public DamagedCheckpointException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
