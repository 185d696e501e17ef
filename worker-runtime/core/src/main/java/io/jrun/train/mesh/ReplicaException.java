package io.jrun.train.mesh;

/** Copies of a parameter differ. The message names the step, the parameter and the ranks. */
public final class ReplicaException extends RuntimeException {
    private static final long serialVersionUID = 1;

    ReplicaException(String message) {
        super(message);
    }
}
