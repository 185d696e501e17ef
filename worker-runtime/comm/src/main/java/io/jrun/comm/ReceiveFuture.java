package io.jrun.comm;

/** An asynchronous receive. */
public interface ReceiveFuture extends Work {
    /** Waits as {@link #await()} does, and returns the envelope of the received message. */
    Received received();
}
