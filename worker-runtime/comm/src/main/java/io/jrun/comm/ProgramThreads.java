package io.jrun.comm;

import io.jrun.comm.backend.ProgressThread;
import io.jrun.comm.control.RuntimeThread;
import java.util.Arrays;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;

/** The threads of this process that may yet call something: neither the VM's nor the runtime's own. Stateless. */
final class ProgramThreads {
    /** On which the platform's libraries, and jrun, end waits. */
    private static final String TIMER = "ForkJoinPool.commonPool-delayScheduler";

    private ProgramThreads() {}

    /** Whether there is one besides {@code thread}. Of virtual threads there are those that carry them. */
    static boolean areBeside(Thread thread) {
        ThreadGroup program = thread.getThreadGroup();
        while (program.getParent() != null && program.getParent().getParent() != null) {
            program = program.getParent(); // The VM's threads are in the group above, or beside this one.
        }
        // One slot more than there were threads shows whether all have found room.
        Thread[] all = new Thread[program.activeCount() + 1];
        int count = program.enumerate(all);
        return count == all.length
                || Arrays.stream(all, 0, count).anyMatch(other -> !other.equals(thread) && mayCall(other));
    }

    private static boolean mayCall(Thread thread) {
        return switch (thread) {
            case RuntimeThread _ -> false;
            case ProgressThread _ -> thread.getState() == Thread.State.RUNNABLE; // In a continuation.
            case ForkJoinWorkerThread worker ->
                !worker.getPool().equals(ForkJoinPool.commonPool())
                        || !worker.getPool().isQuiescent();
            default -> !thread.getName().startsWith(TIMER);
        };
    }
}
