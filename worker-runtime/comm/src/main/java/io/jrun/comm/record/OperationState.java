package io.jrun.comm.record;

/** How far an operation has come. */
public enum OperationState {
    /** It waits in the group for those before it. */
    QUEUED("queued"),
    /** It runs, or waits for other ranks. */
    STARTED("started"),
    /** It is done. */
    COMPLETED("completed"),
    /** It has thrown. */
    FAILED("failed");

    private final String label;

    OperationState(String label) {
        this.label = label;
    }

    /** As dumps name it. */
    public String label() {
        return label;
    }
}
