package io.jrun.train.ddp;

import java.io.Serial;

/** The models of the ranks differ, or a backward pass did not produce all gradients of a rank. */
public class DdpException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    DdpException(String message) {
        super(message);
    }
}
