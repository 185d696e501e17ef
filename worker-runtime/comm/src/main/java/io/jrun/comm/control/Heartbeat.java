package io.jrun.comm.control;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * Sends signs of life on a daemon thread, from its start until it is closed or the connection ends. A process that is stopped,
 * or a VM that hangs in a pause, sends none; that is what they are for.
 */
final class Heartbeat implements AutoCloseable {
    /** Four of them fit into the shortest timeout that an agent accepts. */
    static final Duration PERIOD = Duration.ofMillis(500);

    /** Sends one. */
    @FunctionalInterface
    interface Beat {
        void send() throws IOException;
    }

    private final Beat beat;
    private final Thread thread;
    private volatile boolean closed;

    Heartbeat(int rank, Beat beat) {
        this.beat = beat;
        this.thread =
                Thread.ofPlatform().daemon().name("agent-channel-beat-" + rank).unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    private void run() {
        try {
            while (!closed) {
                beat.send();
                LockSupport.parkNanos(this, PERIOD.toNanos());
            }
        } catch (IOException e) {
            return; // The reading side sees the same end and tells it.
        }
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }
}
