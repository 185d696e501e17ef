package io.jrun.comm.backend;

/**
 * A thread that runs operations in the background of a computation: a backend that waits on one must not spin for long,
 * since the computing thread may need the core.
 */
public final class ProgressThread extends Thread {
    private final boolean runsProgram;

    private ProgressThread(String name, Runnable body, boolean runsProgram) {
        super(body, name);
        this.runsProgram = runsProgram;
        setDaemon(true);
    }

    /** A daemon named {@code name}, not started, that runs whole operations, and what the program wants done after them. */
    public static ProgressThread ofOperations(String name, Runnable body) {
        return new ProgressThread(name, body, true);
    }

    /** The same that runs parts of operations, and nothing of the program's. */
    public static ProgressThread ofParts(String name, Runnable body) {
        return new ProgressThread(name, body, false);
    }

    /** Whether anything of the program's runs on it. */
    boolean runsProgram() {
        return runsProgram;
    }
}
