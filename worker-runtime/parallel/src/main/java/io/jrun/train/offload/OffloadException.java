package io.jrun.train.offload;

/** A file of offloaded states cannot be used. */
public final class OffloadException extends RuntimeException {
    private static final long serialVersionUID = 1;

    OffloadException(String message) {
        super(message);
    }

    OffloadException(String message, Throwable cause) {
        super(message, cause);
    }
}
