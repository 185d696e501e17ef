package io.jrun.train.ddp;

import io.jrun.train.reducer.ReductionException;
import java.io.Serial;

/** A rank has no inputs left, and {@link JoinOptions#throwOnEarlyTermination} ends the training on all ranks. */
public final class EarlyTerminationException extends ReductionException {
    @Serial
    private static final long serialVersionUID = 1L;

    EarlyTerminationException(String message) {
        super(message);
    }
}
