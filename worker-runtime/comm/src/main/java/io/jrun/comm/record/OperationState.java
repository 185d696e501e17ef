package io.jrun.comm.record;

import java.util.Locale;

/** How far an operation has come. */
public enum OperationState {
    /** The operation waits for earlier operations of the group. */
    QUEUED,
    /** The operation runs, or waits for other ranks. */
    STARTED,
    /** The operation is done. */
    COMPLETED,
    /** The operation has thrown. */
    FAILED;

    /** The name of the state for tables and JSON. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
