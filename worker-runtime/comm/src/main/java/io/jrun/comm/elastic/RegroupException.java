package io.jrun.comm.elastic;

import java.io.Serial;

/**
 * This rank leaves its round after a commit, because the nodes of the job change. Not a failure: the body must not
 * catch it.
 */
public final class RegroupException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    RegroupException() {
        super("the nodes of the job change; this rank continues in the next round");
    }
}
