package io.jrun.comm.backend;

import io.jrun.comm.control.RuntimeThread;
import java.util.Arrays;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;

/**
 * The threads of this process that may still call the API: all except the threads of the VM and of the runtime.
 * Stateless.
 */
public final class ProgramThreads {
    /** The prefix of the thread that ends timed waits of the JDK's libraries and of jrun. */
    private static final String TIMER = "ForkJoinPool.commonPool-delayScheduler";

    /** The thread group of JDK daemons that run only cleaning actions of the program. */
    private static final String DAEMONS = "InnocuousThreadGroup";

    /**
     * The thread of that group that exists after the first virtual thread. Virtual threads are in no list of threads.
     */
    private static final String VIRTUAL_THREADS = "VirtualThread-unblocker";

    private ProgramThreads() {}

    /**
     * Whether there is such a thread besides {@code thread}. True after the first virtual thread, which may still run.
     */
    public static boolean areBeside(Thread thread) {
        ThreadGroup machine = thread.getThreadGroup();
        while (machine.getParent() != null) {
            machine = machine.getParent();
        }
        ThreadGroup root = machine;
        // A full array means that some threads may be missing in it. The array has one slot more than there were
        // threads.
        Thread[] all = new Thread[root.activeCount() + 1];
        int count = root.enumerate(all);
        return count == all.length
                || Arrays.stream(all, 0, count)
                        .anyMatch(other -> !other.equals(thread) && !isOfMachine(other, root) && mayCall(other));
    }

    private static boolean isOfMachine(Thread thread, ThreadGroup root) {
        ThreadGroup group = thread.getThreadGroup();
        return group == null
                || group.equals(root)
                || (group.getName().equals(DAEMONS) && !thread.getName().equals(VIRTUAL_THREADS));
    }

    private static boolean mayCall(Thread thread) {
        return switch (thread) {
            case RuntimeThread _ -> false;
            case ProgressThread progress ->
                progress.runsProgram() && thread.getState() == Thread.State.RUNNABLE; // In a continuation.
            case ForkJoinWorkerThread worker ->
                !worker.getPool().equals(ForkJoinPool.commonPool())
                        || !worker.getPool().isQuiescent();
            default -> !thread.getName().startsWith(TIMER);
        };
    }
}
