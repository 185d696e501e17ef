package io.jrun.train.storage;

import io.jrun.comm.file.FileError;
import java.io.IOException;
import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** A storage cannot be read or written. The message is one line for the user: what failed, why, and what to do. */
public sealed class StorageException extends IOException permits CommitConflictException {
    @Serial
    private static final long serialVersionUID = 1L;

    public StorageException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /** One line for the user: the message of this class unchanged, and {@code failed: reason} for other errors. */
    public static String line(String failed, IOException e) {
        return e instanceof StorageException ? text(e) : failed + ": " + FileError.reason(e);
    }

    /** The text of an error: the message of this class; file and reason of others. */
    public static String text(IOException e) {
        return e instanceof StorageException ? String.valueOf(e.getMessage()) : FileError.reason(e, "");
    }
}
