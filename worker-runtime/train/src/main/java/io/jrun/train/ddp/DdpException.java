package io.jrun.train.ddp;

import java.io.Serial;

/** The ranks' models do not fit together, or a backward pass did not give every rank the gradients it must have. */
public final class DdpException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    DdpException(String message) {
        super(message);
    }
}
