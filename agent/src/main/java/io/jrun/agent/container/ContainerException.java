package io.jrun.agent.container;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;

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

    /** The words of a failure of the file system: the file and the reason. */
    public static String words(IOException e) {
        return switch (e) {
            case NoSuchFileException missing -> missing.getFile() + " does not exist";
            case AccessDeniedException denied -> denied.getFile() + ": permission denied";
            case FileAlreadyExistsException exists -> exists.getFile() + " exists already";
            default -> String.valueOf(e.getMessage());
        };
    }

    /** The exit code of the worker, as in shells: 127 if the program does not exist, else 126. */
    public int exitCode() {
        return exitCode;
    }
}
