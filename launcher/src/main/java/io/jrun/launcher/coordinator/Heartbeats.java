package io.jrun.launcher.coordinator;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

/**
 * Sends a ping to each agent of another process every 2 s. A separate thread sends the pings, because a busy
 * coordinator must not look dead. Ends the connection to an agent that has sent nothing in three periods. The periods
 * count, not the time, so a pause of this process counts as one period.
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

    /** Starts the thread, without agents. */
    static Heartbeats start() {
        Heartbeats started = new Heartbeats();
        started.thread.start();
        return started;
    }

    /**
     * Sends pings to this agent from now on. The agent must have opened the job, because it may be busy before that.
     */
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
