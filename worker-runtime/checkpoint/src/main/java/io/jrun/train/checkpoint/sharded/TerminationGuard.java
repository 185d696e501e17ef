package io.jrun.train.checkpoint.sharded;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Gives a program the time to save when its process gets SIGTERM or SIGINT. The JVM ends when its shutdown hooks have
 * ended, and the hook of this class ends when the guard is closed. jrun aborts the collectives of a job that it stops,
 * so the training thread gets a {@link io.jrun.comm.CommException} with the code ABORTED and saves without other ranks.
 * Thread-safe.
 */
public final class TerminationGuard implements AutoCloseable {
    private final CountDownLatch closed = new CountDownLatch(1);
    private final AtomicBoolean isTerminating = new AtomicBoolean();
    private final Thread hook;

    private TerminationGuard(Duration limit) {
        hook = new Thread(() -> await(limit), "save-before-end");
    }

    /**
     * Installs a guard.
     *
     * @param limit longest time for which the end of the process waits; less than jrun's {@code --shutdown-timeout} (30
     *     s)
     */
    public static TerminationGuard install(Duration limit) {
        TerminationGuard guard = new TerminationGuard(limit);
        Runtime.getRuntime().addShutdownHook(guard.hook);
        return guard;
    }

    /** Whether the process is to end. */
    public boolean isTerminating() {
        return isTerminating.get();
    }

    private void await(Duration limit) {
        isTerminating.set(true);
        try {
            boolean _ = closed.await(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The program has saved, or has nothing to save: the process may end. */
    @Override
    public void close() {
        closed.countDown();
        if (!isTerminating.get()) {
            try {
                boolean _ = Runtime.getRuntime().removeShutdownHook(hook);
            } catch (IllegalStateException _) {
                return; // the end has begun in this moment
            }
        }
    }
}
