package io.jrun.comm.control;

/** A daemon thread of the runtime. The thread never runs code of the program. */
public final class RuntimeThread extends Thread {
    /** Makes a thread and does not start it. */
    public RuntimeThread(String name, Runnable body) {
        super(body, name);
        setDaemon(true);
    }

    /** Makes a thread and starts it. */
    public static RuntimeThread start(String name, Runnable body) {
        RuntimeThread thread = new RuntimeThread(name, body);
        thread.start();
        return thread;
    }
}
