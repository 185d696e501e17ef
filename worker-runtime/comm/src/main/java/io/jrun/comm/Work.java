package io.jrun.comm;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** An asynchronous operation. The caller leaves its buffers alone until it is done. Thread-safe. */
public interface Work {
    /**
     * Waits until the operation is done; it has a deadline of its own, so this ends.
     *
     * @throws CommException why it failed; USAGE in a continuation of {@link #future()} that would wait for itself
     */
    void await();

    /**
     * Waits no longer than {@code timeout}.
     *
     * @throws CommException why it failed; COLLECTIVE_TIMEOUT if it still runs, which does not end it
     */
    void await(Duration timeout);

    /** Whether it has succeeded or failed. */
    boolean isDone();

    /** Why it failed; empty while it runs and after success. */
    Optional<Throwable> exception();

    /**
     * Completes with the operation, on the group's progress thread, which runs the next operation only afterwards: hand long
     * continuations to an executor. Those that wait (a synchronous call, {@link #await()} or closing a group) must be, and
     * fail with USAGE otherwise.
     */
    CompletableFuture<Void> future();
}
