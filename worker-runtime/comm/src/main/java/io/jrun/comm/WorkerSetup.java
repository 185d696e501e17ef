package io.jrun.comm;

/**
 * Prepares a worker process before the user's main class runs, once and on the main thread. The agent names the class, which
 * has a public constructor without arguments, in the system property {@value #PROPERTY}: looking for it with a ServiceLoader
 * would open every jar of the class path, 40 ms that each start would pay.
 */
public interface WorkerSetup {
    /** The system property. */
    String PROPERTY = "jrun.worker.setup";

    /** Must be quick when there is nothing to do: every worker pays for it. Failures are told on stderr, not thrown. */
    void prepare();
}
