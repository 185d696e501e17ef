package io.jrun.train.reducer;

import java.io.Serial;

/** The models of the ranks differ, or a backward pass did not produce all gradients of a rank. */
public class ReductionException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    /** The error with its message. */
    public ReductionException(String message) {
        super(message);
    }
}
