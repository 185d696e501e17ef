package io.jrun.comm;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * An asynchronous operation. The program does not touch the buffers until the operation is done. Thread-safe.
 *
 * <p>An operation on host memory is done when {@link #await()} returns. An operation on device memory runs on a stream of the
 * backend, after everything that the default stream of the device held when the program called the operation. What the
 * program queues on its own stream after {@link #awaitOn} runs after the operation; the host need not wait.
 */
public interface Work {
    /**
     * Waits on the host until the operation is done, also an operation on device memory. The operation has a deadline, so the
     * wait ends.
     *
     * @throws CommException why the operation failed; USAGE in a continuation of {@link #future()} that would wait for itself
     */
    void await();

    /**
     * As {@link #await()}, but not longer than {@code timeout}.
     *
     * @throws CommException why the operation failed; COLLECTIVE_TIMEOUT if the operation still runs, which does not end it
     */
    void await(Duration timeout);

    /**
     * Lets {@code stream} wait for the operation: what the program queues on the stream afterwards sees the results. Waits on
     * the host only until the operation is on the backend's stream. For an operation on host memory the same as
     * {@link #await()}. An operation on device memory that fails later poisons the group; its results are then undefined.
     *
     * @throws CommException why the operation failed; USAGE if the stream is of another device than the buffers
     */
    default void awaitOn(DeviceStream stream) {
        await();
    }

    /** Whether the operation has succeeded or failed. */
    boolean isDone();

    /** Why the operation failed; empty while the operation runs and after success. */
    Optional<Throwable> exception();

    /**
     * Completes with the operation, on the group's progress thread, which runs the next operation only afterwards: hand long
     * continuations to an executor. Those that wait (a synchronous call, {@link #await()} or closing a group) must be, and
     * fail with USAGE otherwise.
     */
    CompletableFuture<Void> future();
}
