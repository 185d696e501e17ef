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
 * When agents are called again that closed the connection before they said anything, as they do where too many strangers are
 * connected: after a moment, until the time is over in which nodes may join. Confined to the coordinator's thread.
 */
final class DroppedConnectionRetries {
    /** Long enough to be no flood of its own, and short beside any --join-timeout. */
    private static final long PAUSE_NANOS = 200_000_000;

    private final LongSupplier nanoTime;
    private final Duration joinTimeout;
    private final long endNanos;
    private final Set<Integer> known = new HashSet<>();
    private final Map<Integer, Long> dueNanos = new HashMap<>();

    /** The time to join begins now. */
    DroppedConnectionRetries(LongSupplier nanoTime, Duration joinTimeout) {
        this.nanoTime = nanoTime;
        this.joinTimeout = joinTimeout;
        this.endNanos = nanoTime.getAsLong() + joinTimeout.toNanos();
    }

    boolean areAllowed() {
        return endNanos - nanoTime.getAsLong() > PAUSE_NANOS;
    }

    /** Has this agent called again soon; whether that is the first time. */
    boolean add(int id) {
        dueNanos.put(id, nanoTime.getAsLong() + PAUSE_NANOS);
        return known.add(id);
    }

    /** The agents to be called now; they wait no more. */
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

    /** It is not called again. */
    void forget(int id) {
        dueNanos.remove(id);
    }

    /** How long agents are called again at most. */
    long seconds() {
        return joinTimeout.toSeconds();
    }
}
