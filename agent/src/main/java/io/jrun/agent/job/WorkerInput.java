package io.jrun.agent.job;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Writes the launcher's standard input to the workers of this node that read it. A worker that does not read holds back
 * the input of all. A worker that has ended, or has closed its stdin, holds back nobody. Thread-safe.
 */
final class WorkerInput implements AutoCloseable {
    /** Limit of the bytes that no worker has read yet: enough for a fast reader, and little memory for each job. */
    static final int WINDOW_BYTES = 1 << 18;

    private final Queue<ByteString> pieces = new ArrayDeque<>();
    private final Map<Integer, OutputStream> readers = new TreeMap<>();
    private @Nullable Set<Integer> unstarted;
    private long queued;
    private boolean ended;

    /** The round starts. Input waits until these ranks have started or have ended. */
    synchronized void expect(Set<Integer> ranks) {
        unstarted = new HashSet<>(ranks);
        notifyAll();
    }

    /** A worker has started. Its stdin belongs to this object from now on. */
    synchronized void started(int rank, OutputStream stdin) {
        readers.put(rank, stdin);
        forget(rank);
    }

    /** A worker has ended, or could not be started. */
    synchronized void ended(int rank) {
        readers.remove(rank);
        forget(rank);
    }

    private void forget(int rank) {
        if (unstarted != null) {
            unstarted.remove(rank);
        }
        notifyAll();
    }

    /**
     * Begins to write, on a thread of this object.
     *
     * @param credit receives the number of bytes for which there is room, at the begin and after each write
     * @param onEnd runs after the end of the input, or when no worker reads any more
     */
    void attach(LongConsumer credit, Runnable onEnd) {
        credit.accept(WINDOW_BYTES);
        Thread.ofPlatform().daemon().name("jrun-worker-input").start(() -> run(credit, onEnd));
    }

    /** Adds a piece of the input. Returns false if the piece exceeds the credit. */
    synchronized boolean add(ByteString piece) {
        if (queued + piece.size() > WINDOW_BYTES) {
            return false;
        }
        queued += piece.size();
        pieces.add(piece);
        notifyAll();
        return true;
    }

    /** The input has ended. The workers get the end after all pieces. */
    synchronized void end() {
        ended = true;
        notifyAll();
    }

    /** The job has ended. */
    @Override
    public synchronized void close() {
        pieces.clear();
        unstarted = Set.of();
        end();
    }

    private void run(LongConsumer credit, Runnable onEnd) {
        try {
            Optional<ByteString> piece = next();
            while (piece.isPresent()) {
                ByteString data = piece.get();
                readersNow().forEach((rank, stdin) -> write(rank, stdin, data));
                credit.accept(written(data));
                piece = next();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        readersNow().forEach(this::close);
        onEnd.run();
    }

    /** Waits for the workers and for a piece. Empty after the end, or if no worker reads. */
    private synchronized Optional<ByteString> next() throws InterruptedException {
        while (unstarted == null || !unstarted.isEmpty() || (pieces.isEmpty() && !ended && !readers.isEmpty())) {
            wait(); // until the end of the job at the latest
        }
        return readers.isEmpty() ? Optional.empty() : Optional.ofNullable(pieces.poll());
    }

    private synchronized long written(ByteString piece) {
        queued -= piece.size();
        return piece.size();
    }

    private synchronized Map<Integer, OutputStream> readersNow() {
        return Map.copyOf(readers);
    }

    private void write(int rank, OutputStream stdin, ByteString piece) {
        try {
            piece.writeTo(stdin);
            stdin.flush();
        } catch (IOException e) {
            close(rank, stdin); // the worker reads no more
        }
    }

    private void close(int rank, OutputStream stdin) {
        synchronized (this) {
            readers.remove(rank, stdin);
        }
        try {
            stdin.close();
        } catch (IOException e) {
            // the worker has closed the other end
        }
    }
}
