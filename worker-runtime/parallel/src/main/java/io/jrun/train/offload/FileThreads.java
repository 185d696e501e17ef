package io.jrun.train.offload;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Three threads: one reads the files of units, one writes them, and one updates units beside a backward pass. Each runs
 * the requests in their order.
 */
final class FileThreads implements AutoCloseable {
    private final Duration timeout;
    private final ExecutorService reader = thread("jrun-offload-read");
    private final ExecutorService writer = thread("jrun-offload-write");
    private final ExecutorService updater = thread("jrun-offload-update");

    /** @param timeout longest time from a request to its end */
    FileThreads(Duration timeout) {
        this.timeout = timeout;
    }

    private static ExecutorService thread(String name) {
        return Executors.newSingleThreadExecutor(
                Thread.ofPlatform().daemon().name(name).factory());
    }

    /** Begins to read a file of a unit; {@code what} names the read in messages. */
    <T> FileTask<T> read(OffloadedUnit unit, String what, Supplier<T> work) {
        return new FileTask<>(reader, unit, what, timeout, () -> true, work);
    }

    /**
     * Begins to write a file of a unit.
     *
     * @param isOnHost whether the elements are in host memory; false if the work waits for the GPU
     */
    FileTask<OffloadedUnit> write(OffloadedUnit unit, String what, BooleanSupplier isOnHost, Runnable work) {
        return new FileTask<>(writer, unit, what, timeout, isOnHost, () -> {
            work.run();
            return unit;
        });
    }

    /**
     * Begins to update a unit.
     *
     * @param isOnHost as for {@link #write}
     */
    <T> FileTask<T> update(OffloadedUnit unit, BooleanSupplier isOnHost, Supplier<T> work) {
        return new FileTask<>(updater, unit, "the update", timeout, isOnHost, work);
    }

    /** Ends the threads, after the requests that are queued: an update queues a write. */
    @Override
    public void close() {
        long begin = System.nanoTime();
        try {
            for (ExecutorService thread : List.of(updater, reader, writer)) {
                thread.shutdown();
                if (!thread.awaitTermination(begin + timeout.toNanos() - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                    throw new OffloadException("a read, an update or a write of offloaded states has not ended within "
                            + timeout + ", the timeout of the process group. Check the disk.");
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new OffloadException("the thread was interrupted while it waited for the threads of files", e);
        } finally {
            reader.shutdown();
            writer.shutdown();
        }
    }
}
