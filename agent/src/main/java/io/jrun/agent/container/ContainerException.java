package io.jrun.agent.container;

/** A container cannot be made on this node. The message is one sentence for the user: what, why, and what to do. */
public final class ContainerException extends Exception {
    private static final long serialVersionUID = 1L;

    /** With a sentence for the user. */
    public ContainerException(String message) {
        super(message);
    }

    /** With a sentence for the user. */
    public ContainerException(String message, Throwable cause) {
        super(message, cause);
    }
}
