package io.jrun.agent.job;

import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** One thread that runs a job's events in the order of their arrival. Events after {@link #close} are dropped. */
final class JobEventLoop implements AutoCloseable {
    private final ScheduledThreadPoolExecutor executor;
    private final Consumer<Throwable> onFailure;

    /**
     * An event loop whose thread starts with the first event. {@code onFailure} receives, on that thread, the
     * exceptions of events.
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
            // the job has ended
        }
    }

    /** Runs an event after a delay; the future cancels the event. Called on the thread of this event loop. */
    Future<?> postIn(long millis, Runnable event) {
        return executor.schedule(() -> run(event), millis, TimeUnit.MILLISECONDS);
    }

    private void run(Runnable event) {
        try {
            event.run();
        } catch (RuntimeException | Error e) { // the executor would ignore both, and the job would hang
            onFailure.accept(e);
        }
    }

    @Override
    public void close() {
        executor.shutdownNow();
    }
}
