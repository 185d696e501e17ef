package io.jrun.train.storage;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.FileChannel;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;

/**
 * Writes the pages of a file to the disk while the program writes further pages. Otherwise the disk would have no work
 * before the final fsync. Confined to one thread; the fsyncs run on threads of their own, one at a time.
 */
final class EarlyFlush {
    /** The disk needs some tens of milliseconds for these bytes, many times as long as an fsync without pages. */
    private static final long INTERVAL_BYTES = 64L << 20;

    private final FileChannel channel;
    private long unflushed;
    private @Nullable FutureTask<?> running;

    EarlyFlush(FileChannel channel) {
        this.channel = channel;
    }

    /** Begins an fsync if many bytes were written since the last one and no fsync is running. */
    void written(long bytes) throws IOException {
        unflushed += bytes;
        FutureTask<?> last = running;
        if (unflushed < INTERVAL_BYTES || (last != null && !last.isDone())) {
            return;
        }
        end();
        unflushed = 0;
        FutureTask<?> task = new FutureTask<>(() -> {
            channel.force(false);
            return true;
        });
        Thread.ofPlatform().daemon().name("file-flush").start(task);
        running = task;
    }

    /**
     * Waits for the fsync that is running. The kernel reports an error of the disk only once, so the error is thrown.
     */
    void end() throws IOException {
        FutureTask<?> last = running;
        running = null;
        if (last == null) {
            return;
        }
        try {
            last.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException failure ? failure : new IOException(e.getCause());
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while the disk was written");
        }
    }
}
