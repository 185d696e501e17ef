package io.jrun.train.offload;

import io.jrun.comm.file.FileError;
import io.jrun.train.fsdp.ShardTransfer;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * A read or a write of a unit's file, on a thread of {@link FileThreads}. The deadline begins with the request.
 *
 * @param <T> the result
 */
final class FileTask<T> implements ShardTransfer {
    private final OffloadedUnit unit;
    private final String what;
    private final Duration timeout;
    private final BooleanSupplier isOnHost;
    private final long beganNanos = System.nanoTime();
    private final Future<Result<T>> result;

    private record Result<T>(T value, long endedNanos) {}

    /**
     * Queues {@code work}, which {@code what} names in messages.
     *
     * @param isOnHost whether the elements are in host memory; false if the work waits for the GPU. Called by the
     *     thread that waits for the result
     */
    FileTask(
            ExecutorService thread,
            OffloadedUnit unit,
            String what,
            Duration timeout,
            BooleanSupplier isOnHost,
            Supplier<T> work) {
        this.unit = unit;
        this.what = what;
        this.timeout = timeout;
        this.isOnHost = isOnHost;
        this.result = thread.submit(() -> new Result<>(work.get(), System.nanoTime()));
    }

    /** Waits for the result. */
    T join() {
        return result().value();
    }

    @Override
    public long await() {
        return result().endedNanos();
    }

    private Result<T> result() {
        try {
            return result.get(beganNanos + timeout.toNanos() - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            String reason = e.getCause() instanceof OffloadException failure
                    ? String.valueOf(failure.getMessage())
                    : FileError.reason(e.getCause() == null ? e : e.getCause());
            throw new OffloadException(
                    unit + ": " + what + " failed: " + reason
                            + ". Correct the cause, and start the job again: the job goes on from the last whole step.",
                    e);
        } catch (TimeoutException e) {
            throw new OffloadException(
                    unit + ": " + what + " in " + unit.file() + " has not ended within " + timeout
                            + ", the timeout of the process group. " + remedy(),
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new OffloadException(unit + ": the thread was interrupted while it waited for " + what, e);
        }
    }

    private String remedy() {
        return isOnHost.getAsBoolean()
                ? "Check the disk, or give the group a longer timeout."
                : "The GPU has not ended the work before the copy to host memory. Find the kernel or the collective"
                        + " that does not end, or give the group a longer timeout.";
    }
}
