package io.jrun.launcher.cli;

import io.jrun.launcher.hostlist.HostList;
import io.jrun.launcher.hostlist.HostSyntaxException;
import io.jrun.launcher.job.Cluster.Host;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Says what an option that jrun does not have was probably meant to be: by its meaning in other launchers, else by its
 * letters. Stateless.
 */
final class UnknownOption {
    private static final Pattern SHORT_WITH_NUMBER = Pattern.compile("(-[A-Za-z]+)=?([0-9]+)");
    private static final Pattern PLACEHOLDER = Pattern.compile("\\{([^}]*)}");
    private static final Pattern MINUTES = Pattern.compile("(?:(\\d+)-)?(\\d+)(?::(\\d+))?(?::(\\d+))?");

    /** More hosts than these are not written out in a suggestion. */
    private static final int MOST_HOSTS_SHOWN = 8;

    private static final int MINUTE = 60;
    private static final int HOUR = 60 * MINUTE;

    /** @param hosts those that are named, empty if there are none; {@code nodes} if only their number is known */
    private record Place(List<Host> hosts, int nodes, boolean hasFile) {}

    private UnknownOption() {}

    /**
     * The error for {@code word}.
     *
     * @param word the option as it stands on the command line, with its value if that is in the same word
     * @param following the next word, empty if that is no value
     * @param line the whole command line: what a number of ranks means depends on the hosts
     */
    static UsageException refused(String word, Optional<String> following, List<String> line) {
        Matcher withNumber = SHORT_WITH_NUMBER.matcher(word);
        if (withNumber.matches()) {
            return refused(withNumber.group(1), withNumber.group(2), line);
        }
        int equals = word.indexOf('=');
        return equals < 0
                ? refused(word, following.orElse(""), line)
                : refused(word.substring(0, equals), word.substring(equals + 1), line);
    }

    private static UsageException refused(String name, String value, List<String> line) {
        String dashed = OptionScanner.dashed(name);
        String what = "unknown option '" + name + "'";
        Optional<ForeignOption> foreign = ForeignOption.of(dashed);
        if (foreign.isPresent()) {
            return new UsageException(
                    what + " (" + foreign.get().meaning() + "); " + advice(foreign.get(), value, line) + ".");
        }
        if (SubmitRequest.isOfSbatch(dashed)) {
            return new UsageException(
                    what + " (an option of sbatch); give it to 'jrun submit', and leave it out inside an allocation.");
        }
        List<String> known = new ArrayList<>(List.of("--help", "--version"));
        Arrays.stream(LaunchOption.values()).forEach(option -> known.addAll(option.names()));
        String longName = dashed.startsWith("--") ? dashed : "-" + dashed;
        boolean isWord = longName.length() > "--x".length(); // one letter is near to every other
        Optional<String> near = isWord ? Suggestion.nearest(longName, known) : Optional.empty();
        return new UsageException(what
                + near.map(option -> "; did you mean '" + option + "'?").orElse("; 'jrun --help' lists the options."));
    }

    private static String advice(ForeignOption option, String value, List<String> line) {
        if (option == ForeignOption.TOTAL_RANKS && value.matches("[1-9][0-9]{0,6}")) {
            return adviceOnTotal(Integer.parseInt(value), place(line))
                    .orElseGet(() -> filledIn(option.advice(), value));
        }
        return option == ForeignOption.TIME_LIMIT
                ? filledIn(option.advice(), seconds(value))
                : filledIn(option.advice(), value);
    }

    private static String filledIn(String advice, String value) {
        return PLACEHOLDER
                .matcher(advice)
                .replaceAll(place -> Matcher.quoteReplacement(value.isEmpty() ? place.group(1) : value));
    }

    /** What {@code total} ranks in all are, where jrun counts those of each node. */
    private static Optional<String> adviceOnTotal(int total, Place place) {
        List<Host> hosts = place.hosts;
        if (!hosts.isEmpty() && hosts.stream().allMatch(host -> host.slots().isPresent())) {
            int given = hosts.stream().mapToInt(host -> host.slots().getAsInt()).sum();
            return Optional.of(
                    given == total
                            ? "leave it out: the hosts have " + given + " workers in all"
                            : "the hosts have " + given + " workers in all; name " + total + " with "
                                    + spread(total, hosts));
        }
        if (place.hasFile) {
            return Optional.of("write each host's workers in the hostfile ('node1 slots=8'), or use --nproc-per-node");
        }
        int nodes = hosts.isEmpty() ? place.nodes : hosts.size();
        if (nodes < 2) {
            return Optional.empty();
        }
        if (total % nodes == 0) {
            return Optional.of(
                    "use --nproc-per-node=" + total / nodes + " for " + total + " workers on " + nodes + " nodes");
        }
        return Optional.of(
                hosts.isEmpty()
                        ? "use --nproc-per-node=N; " + nodes + " equal nodes cannot have " + total + " workers in all"
                        : "name " + total + " workers with " + spread(total, hosts));
    }

    /** The hosts with {@code total} workers, as equal as can be. */
    private static String spread(int total, List<Host> hosts) {
        if (hosts.size() > MOST_HOSTS_SHOWN || total < hosts.size()) {
            return "--hosts=HOST:N,HOST:N";
        }
        return IntStream.range(0, hosts.size())
                .mapToObj(i -> hosts.get(i).name() + ":" + (total / hosts.size() + (i < total % hosts.size() ? 1 : 0)))
                .collect(Collectors.joining(",", "--hosts=", ""));
    }

    /** Which hosts the line names, by jrun's names or others', as far as it can be read. */
    private static Place place(List<String> line) {
        List<Host> hosts = List.of();
        int nodes = 1;
        boolean hasFile = false;
        for (int i = 0; i < line.size(); i++) {
            int equals = line.get(i).indexOf('=');
            String name =
                    OptionScanner.dashed(equals < 0 ? line.get(i) : line.get(i).substring(0, equals));
            String value = equals >= 0 ? line.get(i).substring(equals + 1) : i + 1 < line.size() ? line.get(i + 1) : "";
            if (isNamed(name, LaunchOption.HOSTS, ForeignOption.HOST_LIST)) {
                hosts = hosts(value);
            } else if (isNamed(name, LaunchOption.HOSTFILE, ForeignOption.HOST_FILE)) {
                hasFile = true;
            } else if ((isNamed(name, LaunchOption.NNODES, ForeignOption.NODES) || name.equals("-N"))
                    && value.matches("[1-9][0-9]{0,5}")) {
                nodes = Integer.parseInt(value);
            }
        }
        return new Place(hosts, nodes, hasFile);
    }

    private static boolean isNamed(String name, LaunchOption own, ForeignOption foreign) {
        return own.names().contains(name) || foreign.names().contains(name);
    }

    private static List<Host> hosts(String text) {
        try {
            return HostList.parse(text);
        } catch (HostSyntaxException e) {
            return List.of(); // the option's own error comes when it is read
        }
    }

    /** Slurm's "minutes", "minutes:seconds", "hours:minutes:seconds" or "days-hours:minutes:seconds", as jrun writes it. */
    private static String seconds(String text) {
        Matcher time = MINUTES.matcher(text);
        if (!time.matches()) {
            return "";
        }
        boolean hasDays = time.group(1) != null;
        boolean hasHours = hasDays || time.group(4) != null;
        int unit = hasHours ? HOUR : MINUTE;
        long seconds = 0;
        try {
            seconds += hasDays ? 24L * HOUR * Integer.parseInt(time.group(1)) : 0;
            seconds += (long) unit * Integer.parseInt(time.group(2));
            seconds += time.group(3) == null ? 0 : unit / MINUTE * Long.parseLong(time.group(3));
            seconds += time.group(4) == null ? 0 : Long.parseLong(time.group(4));
        } catch (NumberFormatException e) {
            return ""; // more digits than any time has
        }
        return seconds % HOUR == 0
                ? seconds / HOUR + "h"
                : seconds % MINUTE == 0 ? seconds / MINUTE + "m" : seconds + "s";
    }
}
