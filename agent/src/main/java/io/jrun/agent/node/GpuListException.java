package io.jrun.agent.node;

import java.io.IOException;

/** A variable of this node names its GPUs in a form that cannot be used. The message is one line. */
public final class GpuListException extends IOException {
    private static final long serialVersionUID = 1L;

    GpuListException(String message) {
        super(message);
    }
}
