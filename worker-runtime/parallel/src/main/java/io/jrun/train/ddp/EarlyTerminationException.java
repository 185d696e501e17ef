package io.jrun.train.ddp;

import java.io.Serial;

/** A rank has no inputs left, and {@link JoinOptions#throwOnEarlyTermination} ends the training on all ranks. */
public final class EarlyTerminationException extends DdpException {
    @Serial
    private static final long serialVersionUID = 1L;

    EarlyTerminationException(String message) {
        super(message);
    }
}
