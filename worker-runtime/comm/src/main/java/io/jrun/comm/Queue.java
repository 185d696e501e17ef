package io.jrun.comm;

import io.jrun.comm.backend.Deadline;

/** Operations that closing a group waits for. Thread-safe. */
interface Queue {
    /** Refuses operations from now on; those that are there still run. */
    void close();

    /** Waits until a closed queue has run everything; false if it has not by {@code deadline}. */
    boolean awaitEnd(Deadline deadline);
}
