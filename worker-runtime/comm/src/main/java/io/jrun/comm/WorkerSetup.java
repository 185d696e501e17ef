package io.jrun.comm;

/**
 * Prepares a worker process before the user's main class runs, once and on the main thread. The agent names the class
 * in the system property {@value #PROPERTY}. The class has a public constructor without arguments. A ServiceLoader
 * would open every jar of the class path, which costs each start 40 ms.
 */
public interface WorkerSetup {
    /** The system property with the name of the class. */
    String PROPERTY = "jrun.worker.setup";

    /**
     * Must return quickly if there is nothing to do, because every worker calls the method. Reports failures on stderr.
     *
     * @throws IllegalArgumentException if the class path or a variable of the user makes a start impossible: one line
     *     for the user, with which the worker ends with exit code 2
     */
    void prepare();
}
