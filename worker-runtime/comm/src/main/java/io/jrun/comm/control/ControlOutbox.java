package io.jrun.comm.control;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The frames from a worker to its agent. A daemon thread writes them in order, so no thread of the program waits for a
 * stopped agent. Between frames the thread writes heartbeats, from its start until {@link #close} or the end of the
 * connection. A stopped agent finds one heartbeat when it continues. A stopped process, or a VM in a long pause, writes
 * none. Thread-safe.
 */
final class ControlOutbox implements AutoCloseable {
    /** Time between two heartbeats. Four heartbeats fit into the shortest timeout that an agent accepts. */
    static final Duration PERIOD = Duration.ofMillis(500);

    /**
     * The limit of the queue: a few of the largest frames. A program that sends more requests to a silent agent gets an
     * error.
     */
    private static final int MAX_BYTES = 4 * FrameCodec.MAX_FRAME_BYTES;

    /** Writes a whole frame. */
    @FunctionalInterface
    interface Sink {
        void write(byte[] frame) throws IOException;
    }

    /** The next frame to write, and whether it is a heartbeat. */
    private record Outgoing(Supplier<byte[]> frame, boolean isHeartbeat) {}

    private final Sink sink;
    private final Supplier<byte[]> heartbeat;
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
     * Makes an outbox that is not started.
     *
     * @param heartbeat source of heartbeats
     * @param metrics queue of metrics, which are sent at their times when no frame waits
     */
    ControlOutbox(int rank, Sink sink, Supplier<byte[]> heartbeat, MetricQueue metrics) {
        this.sink = sink;
        this.heartbeat = heartbeat;
        this.metrics = metrics;
        this.thread = new RuntimeThread("agent-channel-out-" + rank, this::run);
    }

    void start() {
        thread.start();
    }

    /**
     * Adds a frame. Returns at once.
     *
     * @throws IOException if the connection has ended, or if the agent does not read
     */
    void add(byte[] frame) throws IOException {
        lock.lock();
        try {
            checkOpen();
            if (bytes + frame.length > MAX_BYTES) {
                throw new IOException("this node's agent does not read: " + bytes + " bytes in " + frames.size()
                        + " frames wait for the agent (at most " + MAX_BYTES
                        + "). The agent may be stopped, or its node overloaded.");
            }
            frames.add(frame);
            bytes += frame.length;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Wakes the thread, because the queue of metrics is no longer empty. */
    void wake() {
        lock.lock();
        try {
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waits until all frames are sent or cannot be sent, at most {@code timeout}. */
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
            long nextHeartbeat = System.nanoTime();
            for (Outgoing next = next(nextHeartbeat); next != null; next = next(nextHeartbeat)) {
                sink.write(next.frame().get());
                if (next.isHeartbeat()) {
                    nextHeartbeat = System.nanoTime() + PERIOD.toNanos();
                }
            }
        } catch (IOException e) {
            ended(e); // The reading thread sees the same end and reports it.
        }
    }

    /** Returns the next frame to write; null after {@link #close}. */
    private @Nullable Outgoing next(long nextHeartbeat) {
        lock.lock();
        try {
            isWriting = false;
            changed.signalAll();
            while (!closed) {
                long heartbeatLeft = nextHeartbeat - System.nanoTime();
                long metricsLeft = metrics.nanosLeft();
                if (heartbeatLeft <= 0 || metricsLeft <= 0 || !frames.isEmpty()) {
                    isWriting = true;
                    return heartbeatLeft <= 0 ? new Outgoing(heartbeat, true) : new Outgoing(frameOrMetrics(), false);
                }
                long _ = changed.awaitNanos(Math.min(heartbeatLeft, metricsLeft));
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
