package io.jrun.agent.files;

/** A file that a job needs is missing and unavailable. The message is for the user and names the file. */
public final class StagingException extends Exception {
    private static final long serialVersionUID = 1L;

    StagingException(String message) {
        super(message);
    }
}
