package io.jrun.agent.container;

/** The text of a container option does not have the form of the option. The message is one sentence for the user. */
public final class ContainerFormatException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    /** With a sentence for the user. */
    public ContainerFormatException(String message) {
        super(message);
    }
}
