package io.jrun.launcher.hostlist;

import io.jrun.launcher.job.Cluster.Host;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;

/** One line of a host file, without comments: the host, and its fields NAME=VALUE. Stateless. */
final class HostFileLine {
    /** The names of the number of workers. */
    private static final Set<String> SLOTS = Set.of("slots", "cpus", "cpu", "count");

    /** The names of the most workers. Open MPI starts so many if the line has no number. */
    private static final Set<String> LIMIT = Set.of(
            "max_slots",
            "max-slots",
            "slots_max",
            "slots-max",
            "max_cpu",
            "max-cpu",
            "cpu_max",
            "cpu-max",
            "max_count",
            "max-count",
            "count_max",
            "count-max");

    private static final Set<String> USER = Set.of("username", "user-name", "user_name");

    private HostFileLine() {}

    static List<Host> hosts(String line) {
        String[] words = line.split(" ", -1);
        List<Host> hosts = HostList.item(words[0]);
        OptionalInt counted = hosts.getFirst().slots();
        OptionalInt limit = OptionalInt.empty();
        String user = hosts.getFirst().user();
        for (int i = 1; i < words.length; i++) {
            int equals = words[i].indexOf('=');
            String key = equals < 0 ? "" : words[i].substring(0, equals);
            String value = words[i].substring(equals + 1);
            if (SLOTS.contains(key)) {
                refuseSecond(counted, "workers", words[i], line);
                counted = OptionalInt.of(HostList.slots(value, line));
            } else if (LIMIT.contains(key)) {
                refuseSecond(limit, "workers at most", words[i], line);
                limit = OptionalInt.of(HostList.slots(value, line));
            } else if (USER.contains(key) && user.isEmpty()) {
                user = HostList.item(value + "@" + hosts.getFirst().name())
                        .getFirst()
                        .user();
            } else {
                throw new HostSyntaxException("'" + line + "': '" + words[i]
                        + "' is not understood; a line is 'node1 slots=8', 'node1:8' or 'node1'");
            }
        }
        if (limit.isPresent() && counted.isPresent() && counted.getAsInt() > limit.getAsInt()) {
            throw new HostSyntaxException(
                    "'" + line + "': " + counted.getAsInt() + " workers are more than max_slots, " + limit.getAsInt());
        }
        OptionalInt slots = counted.isPresent() ? counted : limit;
        String login = user;
        return hosts.stream()
                .map(host -> new Host(host.name(), slots, host.gpus(), login))
                .toList();
    }

    private static void refuseSecond(OptionalInt first, String what, String word, String line) {
        if (first.isPresent()) {
            throw new HostSyntaxException("'" + line + "': '" + word + "' gives the number of " + what
                    + " a second time, after " + first.getAsInt() + "; give the number once");
        }
    }
}
