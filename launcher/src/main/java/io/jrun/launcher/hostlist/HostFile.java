package io.jrun.launcher.hostlist;

import io.jrun.launcher.job.Cluster.Host;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/**
 * A file with a host on each line: {@code node1 slots=8} (Open MPI, DeepSpeed), {@code node1:8} (MPICH), or {@code
 * node1}. A {@code #} begins a comment. Stateless.
 */
public final class HostFile {
    private HostFile() {}

    /**
     * Returns the hosts of the lines, in order.
     *
     * @throws HostSyntaxException with the number of the first unreadable line
     */
    public static List<Host> parse(List<String> lines) {
        List<Host> hosts = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            String line = joined(lines.get(i).replaceFirst("#.*", ""));
            if (line.isEmpty()) {
                continue;
            }
            try {
                HostList.add(hosts, line(line));
            } catch (HostSyntaxException e) {
                throw new HostSyntaxException("line " + (i + 1) + ": " + e.getMessage());
            }
        }
        return HostList.checked(hosts);
    }

    /** Normalises blanks: one blank between two words, no blank beside an equals sign. */
    private static String joined(String line) {
        StringBuilder joined = new StringBuilder();
        for (String word : line.strip().split("\\s+", -1)) {
            boolean apart = !joined.isEmpty() && joined.charAt(joined.length() - 1) != '=' && !word.startsWith("=");
            joined.append(apart ? " " : "").append(word);
        }
        return joined.toString();
    }

    private static List<Host> line(String line) {
        String[] words = line.split(" ", -1);
        List<Host> hosts = HostList.item(words[0]);
        OptionalInt counted = hosts.getFirst().slots();
        OptionalInt limit = OptionalInt.empty();
        for (int i = 1; i < words.length; i++) {
            int equals = words[i].indexOf('=');
            String key = equals < 0 ? words[i] : words[i].substring(0, equals);
            String value = words[i].substring(equals + 1);
            switch (key) {
                case "slots", "cpus", "cpu", "count" -> {
                    refuseSecond(counted, "workers", words[i], line);
                    OptionalInt slots = OptionalInt.of(HostList.slots(value, line));
                    counted = slots;
                    hosts = hosts.stream()
                            .map(host -> new Host(host.name(), slots))
                            .toList();
                }
                case "max_slots", "max-slots" -> { // a limit for schedulers, not for one job
                    refuseSecond(limit, "workers at most", words[i], line);
                    limit = OptionalInt.of(HostList.slots(value, line));
                }
                default ->
                    throw new HostSyntaxException("'" + line + "': '" + words[i]
                            + "' is not understood; a line is 'node1 slots=8', 'node1:8' or 'node1'");
            }
        }
        if (limit.isPresent() && counted.isPresent() && counted.getAsInt() > limit.getAsInt()) {
            throw new HostSyntaxException(
                    "'" + line + "': " + counted.getAsInt() + " workers are more than max_slots, " + limit.getAsInt());
        }
        return hosts;
    }

    private static void refuseSecond(OptionalInt first, String what, String word, String line) {
        if (first.isPresent()) {
            throw new HostSyntaxException("'" + line + "': '" + word + "' gives the number of " + what
                    + " a second time, after " + first.getAsInt() + "; give the number once");
        }
    }
}
