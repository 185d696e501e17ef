package io.jrun.launcher.slurm;

import java.io.Serial;

/** What Slurm says of its allocation cannot be understood, or used. The message is one line for the user. */
public final class AllocationException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    AllocationException(String message) {
        super(message);
    }
}
