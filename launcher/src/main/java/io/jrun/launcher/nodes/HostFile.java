package io.jrun.launcher.nodes;

import io.jrun.launcher.job.Cluster.Host;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/**
 * A file with a host on each line: {@code node1 slots=8} as Open MPI and DeepSpeed write it, {@code node1:8} as MPICH, or
 * {@code node1} alone. What follows a {@code #} is a remark. Stateless.
 */
public final class HostFile {
    private HostFile() {}

    /**
     * The hosts of these lines in order.
     *
     * @throws HostSyntaxException with the number of a line that cannot be read
     */
    public static List<Host> parse(List<String> lines) {
        List<Host> hosts = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i)
                    .replaceFirst("#.*", "")
                    .replaceAll("\\s*=\\s*", "=")
                    .strip();
            if (line.isEmpty()) {
                continue;
            }
            try {
                hosts.addAll(line(line));
            } catch (HostSyntaxException e) {
                throw new HostSyntaxException("line " + (i + 1) + ": " + e.getMessage());
            }
        }
        return HostList.checked(hosts);
    }

    private static List<Host> line(String line) {
        String[] words = line.split("\\s+", -1);
        List<Host> hosts = HostList.item(words[0]);
        for (int i = 1; i < words.length; i++) {
            int equals = words[i].indexOf('=');
            String key = equals < 0 ? words[i] : words[i].substring(0, equals);
            String value = words[i].substring(equals + 1);
            switch (key) {
                case "slots", "cpus", "cpu", "count" -> {
                    OptionalInt slots = OptionalInt.of(HostList.slots(value, line));
                    hosts = hosts.stream()
                            .map(host -> new Host(host.name(), slots))
                            .toList();
                }
                case "max_slots", "max-slots" -> HostList.slots(value, line); // a limit for schedulers, not for one job
                default ->
                    throw new HostSyntaxException("'" + line + "': '" + words[i]
                            + "' is not understood; a line is 'node1 slots=8', 'node1:8' or 'node1'");
            }
        }
        return hosts;
    }
}
