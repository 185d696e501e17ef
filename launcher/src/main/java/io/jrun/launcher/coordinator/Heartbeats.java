package io.jrun.launcher.coordinator;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

/**
 * Pings the agents of other processes every 2 s, on a thread of its own so that nothing that holds up the coordinator makes it
 * look dead, and gives up an agent from which nothing has come in three turns. Turns are counted, not time: a standstill of
 * this process is one turn long.
 */
final class Heartbeats implements AutoCloseable {
    private static final long TURN_NANOS = 2_000_000_000;
    private static final int MAX_MISSED = 3;

    private final List<AgentConnection> links = new CopyOnWriteArrayList<>();
    private volatile boolean closed;
    private final Thread thread;

    private Heartbeats() {
        thread = Thread.ofPlatform().daemon().name("jrun-heartbeats").unstarted(this::run);
    }

    /** A pacemaker of nobody yet. */
    static Heartbeats start() {
        Heartbeats started = new Heartbeats();
        started.thread.start();
        return started;
    }

    /** Watches this agent from now on; it must have opened the job, since before that it may be busy. */
    void watch(AgentConnection link) {
        links.add(link);
    }

    private void run() {
        while (!closed) {
            links.removeIf(link -> !link.beat(MAX_MISSED));
            LockSupport.parkNanos(this, TURN_NANOS);
        }
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }
}
