package io.jrun.launcher.coordinator;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Schedules new connections to hosts that were lost or could not be reached. Each delay is twice the delay before, and
 * the number of attempts is limited. Confined to the coordinator's thread.
 */
final class NodeReconnectBackoff {
    /**
     * Largest number of attempts. The last one starts 128 cool-downs after the one before; with 30 s each, two hours in
     * all.
     */
    static final int MOST = 8;

    private final LongSupplier nanoTime;
    private final long coolDownNanos;
    private final Map<Integer, HostHistory> hosts = new HashMap<>();

    /** A scheduled connection; {@code number} counts from 1. */
    record ScheduledCall(int number, Duration delay) {}

    /** The attempts of one host. */
    private static final class HostHistory {
        private int calls;
        private long openedNanos;
        private boolean open;
        private boolean waiting;
        private long dueNanos;
    }

    NodeReconnectBackoff(LongSupplier nanoTime, Duration coolDown) {
        this.nanoTime = nanoTime;
        this.coolDownNanos = coolDown.toNanos();
    }

    /** The host's agent has opened the job. */
    void opened(int id) {
        HostHistory host = host(id);
        host.open = true;
        host.openedNanos = nanoTime.getAsLong();
    }

    /**
     * The host was lost or could not be reached. A host that stayed longer than the longest delay starts again with
     * attempt 1.
     *
     * @param bounded whether attempts end after {@link #MOST}
     * @return the next attempt; empty if none follows
     */
    Optional<ScheduledCall> lost(int id, boolean bounded) {
        HostHistory host = host(id);
        long now = nanoTime.getAsLong();
        if (!bounded || (host.open && now - host.openedNanos >= longestNanos())) {
            host.calls = 0;
        }
        host.open = false;
        if (host.calls == MOST) {
            return Optional.empty();
        }
        Duration delay = Duration.ofNanos(coolDownNanos << host.calls);
        host.dueNanos = now + delay.toNanos();
        host.waiting = true;
        return Optional.of(new ScheduledCall(++host.calls, delay));
    }

    private long longestNanos() {
        return coolDownNanos << (MOST - 1);
    }

    /** Removes and returns the hosts whose attempt is due. */
    List<Integer> due() {
        long now = nanoTime.getAsLong();
        List<Integer> due = new ArrayList<>();
        hosts.forEach((id, host) -> {
            if (host.waiting && now - host.dueNanos >= 0) {
                host.waiting = false;
                due.add(id);
            }
        });
        return due;
    }

    /** Cancels the attempts for this host. */
    void forget(int id) {
        host(id).waiting = false;
    }

    private HostHistory host(int id) {
        return hosts.computeIfAbsent(id, _ -> new HostHistory());
    }
}
