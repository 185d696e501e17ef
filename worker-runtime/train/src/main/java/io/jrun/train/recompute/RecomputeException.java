package io.jrun.train.recompute;

import java.io.Serial;

/** A segment cannot be computed again as it was computed first. The message names the segment. */
public final class RecomputeException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    RecomputeException(String message) {
        super(message);
    }
}
