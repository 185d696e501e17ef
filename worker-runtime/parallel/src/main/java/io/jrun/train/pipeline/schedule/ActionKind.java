package io.jrun.train.pipeline.schedule;

/** Kind of a {@link PipelineAction}. The text is the text of torch.distributed.pipelining. */
public enum ActionKind {
    /** Forward pass of a micro-batch through a stage. */
    FORWARD("F"),
    /** Whole backward pass: the gradients of the stage's input and of its weights. */
    FULL_BACKWARD("B"),
    /** Backward pass that computes the gradient of the stage's input only. */
    INPUT_BACKWARD("I"),
    /**
     * Backward pass that computes the gradients of the stage's weights only. This action follows the INPUT_BACKWARD.
     */
    WEIGHT_BACKWARD("W"),
    /** Sends the stage's output to the next stage. */
    SEND_FORWARD("SEND_F"),
    /** Receives the stage's input from the previous stage. */
    RECEIVE_FORWARD("RECV_F"),
    /** Sends the gradient of the stage's input to the previous stage. */
    SEND_BACKWARD("SEND_B"),
    /** Receives the gradient of the stage's output from the next stage. */
    RECEIVE_BACKWARD("RECV_B");

    private final String text;

    ActionKind(String text) {
        this.text = text;
    }

    /** Letters of the kind in the text of an action. */
    public String text() {
        return text;
    }

    /** Whether the action is a computation. Other actions send or receive. */
    public boolean computes() {
        return text.length() == 1;
    }

    /** Whether the action gives the gradient of the stage's input, which the previous stage needs. */
    public boolean givesInputGradient() {
        return this == FULL_BACKWARD || this == INPUT_BACKWARD;
    }
}
