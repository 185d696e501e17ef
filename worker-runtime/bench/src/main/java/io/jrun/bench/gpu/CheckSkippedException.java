package io.jrun.bench.gpu;

import java.io.Serial;

/** A check cannot run on this machine. The message names the reason. */
final class CheckSkippedException extends Exception {
    @Serial
    private static final long serialVersionUID = 1L;

    CheckSkippedException(String why) {
        super(why);
    }
}
