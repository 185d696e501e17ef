package io.jrun.comm.control;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The frames from a worker to its agent. A daemon thread writes them in order, so no thread of the program waits for a stopped
 * agent. Between frames the thread writes signs of life, from its start until {@link #close} or the end of the connection. A
 * stopped agent finds one sign of life when it continues. A stopped process, or a VM that hangs in a pause, writes none.
 * Thread-safe.
 */
final class ControlOutbox implements AutoCloseable {
    /** Time between two signs of life. Four fit into the shortest timeout that an agent accepts. */
    static final Duration PERIOD = Duration.ofMillis(500);

    /** Bound of the queue, a few of the largest frames. A program that asks a silent agent on and on gets an error. */
    private static final int MAX_BYTES = 4 * FrameCodec.MAX_FRAME_BYTES;

    /** Writes all of a frame. */
    @FunctionalInterface
    interface Sink {
        void write(byte[] frame) throws IOException;
    }

    /** What the thread writes next, and whether it is a sign of life. */
    private record Outgoing(Supplier<byte[]> frame, boolean isBeat) {}

    private final Sink sink;
    private final Supplier<byte[]> beat;
    private final MetricQueue metrics;
    private final Thread thread;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<byte[]> frames = new ArrayDeque<>();
    private long bytes;
    private boolean isWriting;
    private boolean closed;
    private @Nullable IOException failure;

    /**
     * An outbox that is not started.
     *
     * @param beat the next sign of life
     * @param metrics sent when nothing else is to be sent, each at its time
     */
    ControlOutbox(int rank, Sink sink, Supplier<byte[]> beat, MetricQueue metrics) {
        this.sink = sink;
        this.beat = beat;
        this.metrics = metrics;
        this.thread = new RuntimeThread("agent-channel-out-" + rank, this::run);
    }

    void start() {
        thread.start();
    }

    /**
     * Adds a frame; returns at once.
     *
     * @throws IOException if the connection has ended, or the agent has not taken what was added before
     */
    void add(byte[] frame) throws IOException {
        lock.lock();
        try {
            checkOpen();
            if (bytes + frame.length > MAX_BYTES) {
                throw new IOException("this node's agent takes nothing: " + bytes + " bytes in " + frames.size()
                        + " frames wait for it (at most " + MAX_BYTES
                        + "). It may be stopped, or its node overloaded.");
            }
            frames.add(frame);
            bytes += frame.length;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The queue of metrics is not empty any more. */
    void wake() {
        lock.lock();
        try {
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waits until all frames are sent or cannot be sent, {@code timeout} at most. */
    void flush(Duration timeout) throws InterruptedException {
        lock.lock();
        try {
            long left = timeout.toNanos();
            while ((isWriting || !frames.isEmpty()) && !closed && failure == null && left > 0) {
                left = changed.awaitNanos(left);
            }
        } finally {
            lock.unlock();
        }
    }

    private void checkOpen() throws IOException {
        if (failure != null) {
            throw new IOException(failure.getMessage(), failure);
        }
        if (closed) {
            throw new IOException("this rank has closed its world");
        }
    }

    private void run() {
        try {
            long nextBeat = System.nanoTime();
            for (Outgoing next = next(nextBeat); next != null; next = next(nextBeat)) {
                sink.write(next.frame().get());
                if (next.isBeat()) {
                    nextBeat = System.nanoTime() + PERIOD.toNanos();
                }
            }
        } catch (IOException e) {
            ended(e); // The reading side sees the same end and reports it.
        }
    }

    /** What to write next; null once this is closed. */
    private @Nullable Outgoing next(long nextBeat) {
        lock.lock();
        try {
            isWriting = false;
            changed.signalAll();
            while (!closed) {
                long beatLeft = nextBeat - System.nanoTime();
                long metricsLeft = metrics.nanosLeft();
                if (beatLeft <= 0 || metricsLeft <= 0 || !frames.isEmpty()) {
                    isWriting = true;
                    return beatLeft <= 0 ? new Outgoing(beat, true) : new Outgoing(frameOrMetrics(), false);
                }
                long _ = changed.awaitNanos(Math.min(beatLeft, metricsLeft));
            }
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        } finally {
            lock.unlock();
        }
    }

    private Supplier<byte[]> frameOrMetrics() {
        if (frames.isEmpty()) {
            return metrics::take;
        }
        byte[] frame = frames.remove();
        bytes -= frame.length;
        return () -> frame;
    }

    private void ended(IOException why) {
        lock.lock();
        try {
            failure = why;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
