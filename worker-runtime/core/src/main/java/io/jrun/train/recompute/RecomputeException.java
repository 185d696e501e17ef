package io.jrun.train.recompute;

import java.io.Serial;

/** The second computation of a segment fails or differs from the first. The message names the segment. */
public final class RecomputeException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    RecomputeException(String message) {
        super(message);
    }
}
