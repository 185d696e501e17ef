package io.jrun.agent.files;

/** A file that a job needs is not here and cannot be had; the message is for the user and names it. */
public final class StagingException extends Exception {
    private static final long serialVersionUID = 1L;

    StagingException(String message) {
        super(message);
    }
}
