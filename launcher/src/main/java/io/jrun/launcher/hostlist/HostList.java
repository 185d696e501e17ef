package io.jrun.launcher.hostlist;

import io.jrun.launcher.job.Cluster.Host;
import io.jrun.launcher.job.GpuSubset;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A list of hosts such as {@code h1:8,h2:4} or {@code gpu[01-04,07]:8}. Each item is an expression of Slurm's grammar,
 * with the number of workers on each of its hosts. Commas or blanks separate the items. Empty items are ignored.
 * Stateless.
 */
public final class HostList {
    /** The limit of workers on one host. A machine has fewer cores and GPUs. */
    static final int MAX_SLOTS = 4096;

    private static final Pattern LOGIN = Pattern.compile("([A-Za-z0-9_.][A-Za-z0-9_.+-]*[$]?)@(.*)");

    private static final Pattern WITH_SLOTS = Pattern.compile("(.*):([^:\\]]*)");

    /** {@code [fd99::1]:8}: brackets that contain a colon hold an address, not numbers. */
    private static final Pattern IPV6_IN_BRACKETS = Pattern.compile("\\[([0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)](?::(.*))?");

    private static final Pattern IPV6 = Pattern.compile("[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*");

    private HostList() {}

    /**
     * Returns the hosts of {@code text}, in order.
     *
     * @throws HostSyntaxException if the text is unreadable, names no host, or names a host with and without a number of
     *     workers
     */
    public static List<Host> parse(String text) {
        List<Host> hosts = new ArrayList<>();
        for (String item : items(text)) {
            add(hosts, item(item));
        }
        return RepeatedHosts.merged(hosts);
    }

    /** Adds {@code more}. Throws if the sum exceeds the limit. */
    static void add(List<Host> hosts, List<Host> more) {
        if (hosts.size() + more.size() > HostNames.MAX_HOSTS) {
            throw new HostSyntaxException("more than " + HostNames.MAX_HOSTS + " hosts are named");
        }
        hosts.addAll(more);
    }

    /** Returns the hosts of one expression, which may begin with a user for ssh. */
    static List<Host> item(String item) {
        if (item.startsWith("ssh://")) {
            throw new HostSyntaxException("'" + item + "': write user@host; a port goes into ~/.ssh/config, or into"
                    + " --ssh-options='-p PORT'");
        }
        Matcher login = LOGIN.matcher(item);
        return login.matches() ? hosts(login.group(2), login.group(1)) : hosts(item, "");
    }

    private static List<Host> hosts(String item, String user) {
        Matcher bracketed = IPV6_IN_BRACKETS.matcher(item);
        if (bracketed.matches()) {
            String slots = bracketed.group(2);
            OptionalInt counted = slots == null ? OptionalInt.empty() : OptionalInt.of(slots(slots, item));
            return List.of(new Host(bracketed.group(1), counted, GpuSubset.ALL, user));
        }
        if (IPV6.matcher(item).matches()) {
            return List.of(new Host(item, OptionalInt.empty(), GpuSubset.ALL, user));
        }
        Matcher counted = WITH_SLOTS.matcher(item);
        OptionalInt slots = counted.matches() ? OptionalInt.of(slots(counted.group(2), item)) : OptionalInt.empty();
        String names = counted.matches() ? counted.group(1) : item;
        if (names.isEmpty()) {
            throw new HostSyntaxException("'" + item + "' has no host before the colon");
        }
        return HostNames.expand(names).stream()
                .map(name -> new Host(name, slots, GpuSubset.ALL, user))
                .toList();
    }

    static int slots(String digits, String item) {
        if (digits.matches("0[0-9]+")) {
            throw new HostSyntaxException("'" + item + "': '" + digits + "' has a leading zero; write "
                    + digits.replaceFirst("^0+(?=.)", ""));
        }
        if (digits.matches("[0-9]{1,4}")) {
            int slots = Integer.parseInt(digits);
            if (slots >= 1 && slots <= MAX_SLOTS) {
                return slots;
            }
        }
        throw new HostSyntaxException(
                "'" + item + "': '" + digits + "' is no number of workers from 1 to " + MAX_SLOTS);
    }

    /** Splits at commas and blanks outside brackets. */
    static List<String> items(String text) {
        List<String> items = new ArrayList<>();
        StringBuilder item = new StringBuilder();
        boolean inside = false;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (!inside && (c == ',' || Character.isWhitespace(c))) {
                items.add(item.toString());
                item.setLength(0);
                continue;
            }
            inside = c == '[' || (inside && c != ']');
            item.append(c);
        }
        items.add(item.toString());
        items.removeIf(String::isEmpty);
        return items;
    }
}
