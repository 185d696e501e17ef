package io.jrun.train.data;

import io.jrun.train.json.OneLine;
import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** Training data cannot be read. The message is one line with the file, the record, the reason and the remedy. */
public final class DataException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    public DataException(String message) {
        super(OneLine.of(message));
    }

    public DataException(String message, @Nullable Throwable cause) {
        super(OneLine.of(message), cause);
    }
}
