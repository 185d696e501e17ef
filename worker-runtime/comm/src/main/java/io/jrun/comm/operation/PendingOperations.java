package io.jrun.comm.operation;

import io.jrun.comm.backend.Deadline;

/** Operations that closing a group waits for. Thread-safe. */
public interface PendingOperations {
    /** Refuses operations from now on; those that are there still run. */
    void close();

    /** Waits until a closed queue has run everything; false if it has not by {@code deadline}. */
    boolean awaitEnd(Deadline deadline);
}
