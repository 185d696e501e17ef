package io.jrun.launcher.coordinator;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * When hosts are called again that were lost, or could not be reached: each time after twice the time of the time before, and
 * not for ever. Confined to the coordinator's thread.
 */
final class NodeReconnectBackoff {
    /** The last one comes after 128 cool-downs; with those of 30 s that is two hours after the first loss. */
    static final int MOST = 8;

    private final LongSupplier nanoTime;
    private final long coolDownNanos;
    private final Map<Integer, HostHistory> hosts = new HashMap<>();

    /** One to come, counted from 1. */
    record ScheduledCall(int number, Duration delay) {}

    /** What is known of one host. */
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
     * The host is lost, or could not be reached. Who has stayed as long as the longest wait begins anew.
     *
     * @param bounded after {@link #MOST} calls there is no other
     * @return the call that will come; empty if none will
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

    /** The hosts to be called now; they wait no more. */
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

    /** It is not called again. */
    void forget(int id) {
        host(id).waiting = false;
    }

    private HostHistory host(int id) {
        return hosts.computeIfAbsent(id, _ -> new HostHistory());
    }
}
