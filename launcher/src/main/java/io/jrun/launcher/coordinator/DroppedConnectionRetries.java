package io.jrun.launcher.coordinator;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Schedules new connections to agents that closed a connection before their first message. An agent does so when too
 * many connections without authentication are open. The launcher connects again after 200 ms, until the join timeout
 * has passed. Confined to the coordinator's thread.
 */
final class DroppedConnectionRetries {
    /** Pause before a new connection: few connections for the agent, and short compared with any --join-timeout. */
    private static final long PAUSE_NANOS = 200_000_000;

    private final LongSupplier nanoTime;
    private final Duration joinTimeout;
    private final long endNanos;
    private final Set<Integer> known = new HashSet<>();
    private final Map<Integer, Long> dueNanos = new HashMap<>();

    /** Starts the join timeout. */
    DroppedConnectionRetries(LongSupplier nanoTime, Duration joinTimeout) {
        this.nanoTime = nanoTime;
        this.joinTimeout = joinTimeout;
        this.endNanos = nanoTime.getAsLong() + joinTimeout.toNanos();
    }

    boolean areAllowed() {
        return endNanos - nanoTime.getAsLong() > PAUSE_NANOS;
    }

    /** Schedules a new connection to this agent; returns whether this is the first. */
    boolean add(int id) {
        dueNanos.put(id, nanoTime.getAsLong() + PAUSE_NANOS);
        return known.add(id);
    }

    /** Removes and returns the agents whose new connection is due. */
    List<Integer> due() {
        long now = nanoTime.getAsLong();
        List<Integer> due = new ArrayList<>();
        dueNanos.forEach((id, time) -> {
            if (now - time >= 0) {
                due.add(id);
            }
        });
        dueNanos.keySet().removeAll(due);
        return due;
    }

    /** Cancels the new connection to this agent. */
    void forget(int id) {
        dueNanos.remove(id);
    }

    /** The join timeout in seconds. */
    long seconds() {
        return joinTimeout.toSeconds();
    }
}
