package io.jrun.comm.operation;

import io.jrun.comm.backend.Deadline;

/** Operations for which closing a group waits. Thread-safe. */
public interface PendingOperations {
    /** Refuses new operations from now on. Pending operations still run. */
    void close();

    /**
     * Waits until a closed queue has run all operations. Returns false if operations are pending at {@code deadline}.
     */
    boolean awaitEnd(Deadline deadline);
}
