package io.jrun.agent.container;

/**
 * A container cannot be made on this node. The message is one sentence for the user with the problem, its cause and its
 * remedy.
 */
public final class ContainerException extends Exception {
    private static final long serialVersionUID = 1L;
    private static final int CANNOT_EXECUTE = 126;
    private static final int NOT_FOUND = 127;

    private final int exitCode;

    /** Makes an exception with a sentence for the user. */
    public ContainerException(String message) {
        this(message, CANNOT_EXECUTE);
    }

    private ContainerException(String message, int exitCode) {
        super(message);
        this.exitCode = exitCode;
    }

    /** The program of the worker does not exist inside the container. */
    public static ContainerException programMissing(String message) {
        return new ContainerException(message, NOT_FOUND);
    }

    /** Makes an exception with a sentence for the user. */
    public ContainerException(String message, Throwable cause) {
        super(message, cause);
        exitCode = CANNOT_EXECUTE;
    }

    /** The exit code of the worker, as in shells: 127 if the program does not exist, else 126. */
    public int exitCode() {
        return exitCode;
    }
}
