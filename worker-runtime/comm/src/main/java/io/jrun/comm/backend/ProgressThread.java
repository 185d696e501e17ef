package io.jrun.comm.backend;

/**
 * A thread that runs operations in the background of a computation. A backend must not spin for long on a progress
 * thread, because the computing thread may need the core.
 */
public final class ProgressThread extends Thread {
    private final boolean runsProgram;

    private ProgressThread(String name, Runnable body, boolean runsProgram) {
        super(body, name);
        this.runsProgram = runsProgram;
        setDaemon(true);
    }

    /** Makes a daemon thread, not started, that runs whole operations and the program's continuations. */
    public static ProgressThread ofOperations(String name, Runnable body) {
        return new ProgressThread(name, body, true);
    }

    /** Makes a daemon thread, not started, that runs parts of operations and no code of the program. */
    public static ProgressThread ofParts(String name, Runnable body) {
        return new ProgressThread(name, body, false);
    }

    /** Whether the thread may run code of the program. */
    boolean runsProgram() {
        return runsProgram;
    }
}
