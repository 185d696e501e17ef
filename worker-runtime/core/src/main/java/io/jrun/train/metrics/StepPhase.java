package io.jrun.train.metrics;

/** A part of a step. */
public enum StepPhase {
    /** Waits for samples and makes tensors of the samples. */
    DATA("data"),
    FORWARD("forward"),
    /** The backward pass, without {@link #EXPOSED_COMMUNICATION}. */
    BACKWARD("backward"),
    /** Waits for the gradients of other ranks. */
    EXPOSED_COMMUNICATION("exposed_communication"),
    /** Clips gradients and updates parameters. */
    OPTIMIZER("optimizer");

    private final String label;

    StepPhase(String label) {
        this.label = label;
    }

    /** The name in metrics. */
    public String label() {
        return label;
    }
}
