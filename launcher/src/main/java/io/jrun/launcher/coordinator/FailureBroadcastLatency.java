package io.jrun.launcher.coordinator;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The times at which the nodes confirmed that their workers had received the first failure, by the coordinator's clock.
 *
 * @param millis by host, since the coordinator's decision
 * @param silent hosts without a confirmation, because these hosts were lost as well
 */
public record FailureBroadcastLatency(Map<String, Long> millis, List<String> silent) {
    public FailureBroadcastLatency {
        millis = Map.copyOf(millis);
        silent = List.copyOf(silent);
    }

    /** One clause: "all 3 nodes were informed within 4 ms". */
    public String words() {
        long last = millis.values().stream().mapToLong(Long::longValue).max().orElse(0);
        return silent.isEmpty()
                ? "all " + millis.size() + " nodes were informed within " + last + " ms"
                : millis.size() + " nodes were informed within " + last + " ms, and "
                        + silent.stream().sorted().collect(Collectors.joining(", ")) + " did not confirm it";
    }

    /** Seconds by host, sorted by host name. */
    public Map<String, Double> secondsByHost() {
        Map<String, Double> seconds = new TreeMap<>();
        millis.forEach((host, time) -> seconds.put(host, time / 1000.0));
        return seconds;
    }
}
