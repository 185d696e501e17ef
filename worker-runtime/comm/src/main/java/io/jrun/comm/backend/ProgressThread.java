package io.jrun.comm.backend;

/**
 * A thread that runs operations in the background of a computation: a backend that waits on one must not spin for long,
 * since the computing thread may need the core.
 */
public final class ProgressThread extends Thread {
    /** A daemon named {@code name}, not started. */
    public ProgressThread(String name, Runnable body) {
        super(body, name);
        setDaemon(true);
    }
}
