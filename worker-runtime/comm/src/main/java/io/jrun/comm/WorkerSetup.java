package io.jrun.comm;

/**
 * Prepares a worker process before the user's main class runs. Implementations are found by {@link java.util.ServiceLoader}
 * and run once, one after the other, on the main thread.
 */
public interface WorkerSetup {
    /** Must be quick when there is nothing to do: every worker pays for it. Failures are told on stderr, not thrown. */
    void prepare();
}
