package io.jrun.comm.record;

import java.util.Locale;

/** The progress of an operation. */
public enum OperationState {
    /** The operation waits for earlier operations of the group. */
    QUEUED,
    /** The operation runs, or waits for other ranks. */
    STARTED,
    /** The operation has succeeded. */
    COMPLETED,
    /** The operation has thrown an exception. */
    FAILED;

    /** The name of the state for tables and JSON. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
