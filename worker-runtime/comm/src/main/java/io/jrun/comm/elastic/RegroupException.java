package io.jrun.comm.elastic;

import java.io.Serial;

/** This rank leaves its round after a commit, because the job's nodes change. Not a failure: pass it on. */
public final class RegroupException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    RegroupException() {
        super("the job's nodes change; this rank goes on in the next round");
    }
}
