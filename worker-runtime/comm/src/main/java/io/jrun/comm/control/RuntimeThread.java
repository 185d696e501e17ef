package io.jrun.comm.control;

/** A daemon of the runtime's own, on which nothing of the program ever runs. */
public final class RuntimeThread extends Thread {
    /** Not started. */
    public RuntimeThread(String name, Runnable body) {
        super(body, name);
        setDaemon(true);
    }

    /** Started. */
    public static RuntimeThread start(String name, Runnable body) {
        RuntimeThread thread = new RuntimeThread(name, body);
        thread.start();
        return thread;
    }
}
