package io.jrun.launcher.slurm;

import java.io.Serial;

/** Slurm's description of the allocation is unreadable or unusable. The message is one line for the user. */
public final class AllocationException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    AllocationException(String message) {
        super(message);
    }
}
