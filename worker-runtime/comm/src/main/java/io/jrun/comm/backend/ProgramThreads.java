package io.jrun.comm.backend;

import io.jrun.comm.control.RuntimeThread;
import java.util.Arrays;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;

/** The threads of this process that may yet call something: neither the VM's nor the runtime's own. Stateless. */
public final class ProgramThreads {
    /** On which the platform's libraries, and jrun, end waits. */
    private static final String TIMER = "ForkJoinPool.commonPool-delayScheduler";

    /** The JDK's daemons that run no code of the program's but cleaning actions. */
    private static final String DAEMONS = "InnocuousThreadGroup";

    /** The one of them that is there from the first virtual thread on; those themselves are in no list of threads. */
    private static final String VIRTUAL_THREADS = "VirtualThread-unblocker";

    private ProgramThreads() {}

    /** Whether there is one besides {@code thread}; also where there has been a virtual thread, which may still be there. */
    public static boolean areBeside(Thread thread) {
        ThreadGroup machine = thread.getThreadGroup();
        while (machine.getParent() != null) {
            machine = machine.getParent();
        }
        ThreadGroup root = machine;
        // One slot more than there were threads shows whether all have found room.
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
