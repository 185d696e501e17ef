package io.jrun.comm;

/** An asynchronous receive. */
public interface ReceiveFuture extends Work {
    /** Waits as {@link #await()}, and says what has arrived. */
    Received received();
}
