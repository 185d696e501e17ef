package io.jrun.comm.operation;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.Work;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The caller's handle of an operation. Thread-safe. */
public final class PendingWork implements Work {
    private final CompletableFuture<Void> future = new CompletableFuture<>();

    public void complete() {
        future.complete(null);
    }

    public void fail(Throwable failure) {
        future.completeExceptionally(failure);
    }

    @Override
    public void await() {
        refuseWaitingUnlessDone();
        try {
            future.join();
        } catch (CompletionException e) {
            throw unwrap(e);
        }
    }

    @Override
    public void await(Duration timeout) {
        refuseWaitingUnlessDone();
        try {
            future.get(GroupOptions.bounded(timeout).toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            throw unwrap(e);
        } catch (TimeoutException e) {
            throw new CommException(
                    ErrorCode.COLLECTIVE_TIMEOUT, "the operation still runs after " + timeout + " of waiting", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommException(ErrorCode.ABORTED, "interrupted while waiting for an operation", e);
        }
    }

    @Override
    public boolean isDone() {
        return future.isDone();
    }

    @Override
    public Optional<Throwable> exception() {
        return future.isCompletedExceptionally() ? Optional.of(future.exceptionNow()) : Optional.empty();
    }

    @Override
    public CompletableFuture<Void> future() {
        return future.copy();
    }

    private void refuseWaitingUnlessDone() {
        if (!isDone()) {
            OperationQueue.refuseWaiting("Work.await()");
        }
    }

    /** Makes an exception of the waiting thread. The exception has two stacks: of the wait and of the failure. */
    private static RuntimeException unwrap(Exception wrapper) {
        Throwable failure = wrapper.getCause();
        if (failure instanceof CommException comm) {
            return new CommException(comm.code(), String.valueOf(comm.getMessage()), comm);
        }
        return new CommException(ErrorCode.SYSTEM, "the operation failed: " + failure, failure);
    }
}
