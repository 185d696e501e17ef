package io.jrun.bench.gpu;

import java.io.Serial;

/** A check cannot run here; the message says why. */
final class CheckSkippedException extends Exception {
    @Serial
    private static final long serialVersionUID = 1L;

    CheckSkippedException(String why) {
        super(why);
    }
}
