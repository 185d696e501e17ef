package io.jrun.agent.job;

import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** One thread that runs a job's events in the order of their arrival. What comes after {@link #close} is dropped. */
final class JobEventLoop implements AutoCloseable {
    private final ScheduledThreadPoolExecutor executor;
    private final Consumer<Throwable> onFailure;

    /**
     * A mailbox whose thread starts with the first event; {@code onFailure} hears, on that thread, of events that
     * throw.
     */
    JobEventLoop(Consumer<Throwable> onFailure) {
        this.onFailure = onFailure;
        this.executor = new ScheduledThreadPoolExecutor(
                1, task -> Thread.ofPlatform().daemon().name("jrun-agent-job").unstarted(task));
    }

    void post(Runnable event) {
        try {
            executor.execute(() -> run(event));
        } catch (RejectedExecutionException e) {
            // The job has ended and nobody is left to hear of this.
        }
    }

    /** Runs an event later; the future cancels it. For use on this mailbox's own thread. */
    Future<?> postIn(long millis, Runnable event) {
        return executor.schedule(() -> run(event), millis, TimeUnit.MILLISECONDS);
    }

    private void run(Runnable event) {
        try {
            event.run();
        } catch (RuntimeException | Error e) { // the executor would swallow either, and the job hang
            onFailure.accept(e);
        }
    }

    @Override
    public void close() {
        executor.shutdownNow();
    }
}
