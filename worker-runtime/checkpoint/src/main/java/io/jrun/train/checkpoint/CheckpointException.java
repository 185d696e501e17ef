package io.jrun.train.checkpoint;

import io.jrun.train.json.OneLine;
import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** A checkpoint cannot be written, read or applied. The message names the file or tensor, the cause and the remedy. */
public sealed class CheckpointException extends RuntimeException permits DamagedCheckpointException {
    @Serial
    private static final long serialVersionUID = 1L;

    public CheckpointException(String message) {
        super(OneLine.of(message));
    }

    public CheckpointException(String message, @Nullable Throwable cause) {
        super(OneLine.of(message), cause);
    }
}
