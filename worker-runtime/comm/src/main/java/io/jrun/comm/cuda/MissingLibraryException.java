package io.jrun.comm.cuda;

import java.io.Serial;

/** A library, such as NCCL or CUDA, or a GPU is missing. The message names the remedy. */
public final class MissingLibraryException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    public MissingLibraryException(String message) {
        super(message);
    }
}
