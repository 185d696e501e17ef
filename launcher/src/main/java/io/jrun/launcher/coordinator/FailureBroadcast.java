package io.jrun.launcher.coordinator;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/** Measures the time from the abort of a round to the receipt of each node. Confined to the coordinator's thread. */
final class FailureBroadcast {
    private final LongSupplier nanoTime;
    private final Map<String, Long> millis = new LinkedHashMap<>();
    private List<String> hosts = List.of();
    private int round;
    private long startNanos;

    FailureBroadcast(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** A new round begins, without a failure. */
    void clear() {
        hosts = List.of();
        millis.clear();
    }

    /** The abort of round {@code number} was sent to these hosts. */
    void begin(int number, List<String> to) {
        round = number;
        hosts = List.copyOf(to);
        millis.clear();
        startNanos = nanoTime.getAsLong();
    }

    /** The receipt of a node has arrived. */
    void confirm(int number, String host) {
        if (number == round) {
            millis.putIfAbsent(host, (nanoTime.getAsLong() - startNanos) / 1_000_000);
        }
    }

    /** The receipts of the latest abort; empty without an abort. */
    Optional<FailureBroadcastLatency> latency() {
        List<String> silent = new ArrayList<>(hosts);
        silent.removeAll(millis.keySet());
        return hosts.isEmpty() ? Optional.empty() : Optional.of(new FailureBroadcastLatency(millis, silent));
    }
}
