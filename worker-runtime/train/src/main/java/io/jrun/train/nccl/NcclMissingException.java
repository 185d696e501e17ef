package io.jrun.train.nccl;

import java.io.Serial;

/** NCCL, CUDA or a GPU is missing. The message names the remedy. */
final class NcclMissingException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    NcclMissingException(String message) {
        super(message);
    }
}
