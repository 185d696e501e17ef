package io.jrun.launcher.hostlist;

import io.jrun.launcher.job.Cluster.Host;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * Merges the mentions of one host. PBS, LSF and Grid Engine write one line for each slot, so a name that is repeated
 * without a number is one more slot, as in Open MPI. Numbers are added. Stateless.
 */
final class RepeatedHosts {
    private RepeatedHosts() {}

    /**
     * Returns each host once, at its first place. If a host without a number is repeated, all hosts without a number
     * have as many slots as mentions.
     *
     * @throws HostSyntaxException if there is no host, or if mentions of one host do not fit together
     */
    static List<Host> merged(List<Host> mentions) {
        if (mentions.isEmpty()) {
            throw new HostSyntaxException("no host is named");
        }
        Map<String, List<Host>> byName = new LinkedHashMap<>();
        mentions.forEach(host ->
                byName.computeIfAbsent(host.name(), _ -> new ArrayList<>()).add(host));
        boolean countsMentions = byName.values().stream()
                .anyMatch(same -> same.size() > 1 && same.getFirst().slots().isEmpty());
        List<Host> hosts = new ArrayList<>();
        byName.values().forEach(same -> hosts.add(one(same, countsMentions)));
        return hosts;
    }

    private static Host one(List<Host> same, boolean countsMentions) {
        Host first = same.getFirst();
        for (Host other : same) {
            if (!other.user().equals(first.user())) {
                throw new HostSyntaxException(
                        "host '" + first.name() + "' is named twice, with two users; name it with one");
            }
            if (other.slots().isPresent() != first.slots().isPresent()) {
                throw new HostSyntaxException("host '" + first.name() + "' is named twice, with a number of workers and"
                        + " without one; write the number each time, or once in all");
            }
        }
        if (first.slots().isEmpty() && !countsMentions) {
            return first;
        }
        int slots = same.stream().mapToInt(host -> host.slots().orElse(1)).sum();
        if (slots > HostList.MAX_SLOTS) {
            throw new HostSyntaxException(
                    "host '" + first.name() + "' has " + slots + " workers in all; the most is " + HostList.MAX_SLOTS);
        }
        return new Host(first.name(), OptionalInt.of(slots), first.gpus(), first.user());
    }
}
