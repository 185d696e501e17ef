package io.jrun.comm.tcp;

import java.io.IOException;
import java.io.Serial;

/**
 * The other end of a connection is not a rank of this round, or violates the protocol. The message completes "refused:
 * ...".
 */
final class HandshakeRefusedException extends IOException {
    @Serial
    private static final long serialVersionUID = 1L;

    HandshakeRefusedException(String reason) {
        super(reason);
    }
}
