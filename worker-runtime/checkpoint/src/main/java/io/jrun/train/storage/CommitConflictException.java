package io.jrun.train.storage;

import java.io.Serial;

/** Another writer has committed the same object. */
public final class CommitConflictException extends StorageException {
    @Serial
    private static final long serialVersionUID = 1L;

    public CommitConflictException(String message) {
        super(message, null);
    }
}
