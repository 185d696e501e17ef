package io.jrun.comm;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * An asynchronous operation. The program must not touch the buffers until the operation is done. Thread-safe.
 *
 * <p>An operation on host memory is done when {@link #await()} returns. An operation on device memory runs on a stream
 * of the backend, after all work that the default stream of the device held at the time of the call. Work that the
 * program queues on its own stream after {@link #awaitOn} runs after the operation. The host need not wait.
 */
public interface Work {
    /**
     * Waits on the host until the operation is done, also for an operation on device memory. The operation has a
     * deadline, so the wait ends.
     *
     * @throws CommException with the cause of the failure; USAGE in a continuation of {@link #future()}, because the
     *     wait would wait for itself
     */
    void await();

    /**
     * Waits as {@link #await()} does, but at most {@code timeout}.
     *
     * @throws CommException with the cause of the failure; COLLECTIVE_TIMEOUT if the operation still runs; the
     *     operation continues
     */
    void await(Duration timeout);

    /**
     * Lets {@code stream} wait for the operation: work that the program queues on the stream afterwards sees the
     * results. The host waits only until the operation is on the backend's stream. For an operation on host memory the
     * method equals {@link #await()}. An operation on device memory that fails later poisons the group; its results are
     * then undefined.
     *
     * @throws CommException with the cause of the failure; USAGE if the stream is of another device than the buffers
     */
    default void awaitOn(DeviceStream stream) {
        await();
    }

    /** Whether the operation has succeeded or failed. */
    boolean isDone();

    /** The cause of the failure. Empty while the operation runs and after success. */
    Optional<Throwable> exception();

    /**
     * Completes with the operation, on the group's progress thread. The progress thread runs the next operation only
     * after all continuations. Continuations that take long, or that wait (a blocking call, {@link #await()}, closing a
     * group), need an executor. A waiting continuation on the progress thread fails with USAGE.
     */
    CompletableFuture<Void> future();
}
