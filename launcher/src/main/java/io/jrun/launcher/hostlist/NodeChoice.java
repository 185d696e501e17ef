package io.jrun.launcher.hostlist;

import io.jrun.launcher.job.Cluster.Host;
import io.jrun.launcher.job.GpuSubset;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A selection of hosts, or of some GPUs of hosts: {@code h1,h3:0,2}, or {@code h1@h3:0,2} as in DeepSpeed. Names follow
 * Slurm's grammar. GPUs are indices from 0. A range such as {@code h[1-4]:0-3} is possible. Immutable.
 */
public final class NodeChoice {
    /** The limit of GPU indices. No machine has as many GPUs. */
    private static final int MAX_GPUS = 1024;

    private static final String GPU = "(0|[1-9][0-9]{0,3})";

    private static final Pattern GPUS = Pattern.compile(GPU + "(?:-" + GPU + ")?");

    /** GPUs by host. An empty set stands for the whole host. */
    private final Map<String, Set<Integer>> chosen;

    private NodeChoice(Map<String, Set<Integer>> chosen) {
        this.chosen = chosen;
    }

    /**
     * Reads {@code text}.
     *
     * @throws HostSyntaxException if the text is unreadable or names no host
     */
    public static NodeChoice parse(String text) {
        Map<String, Set<Integer>> chosen = new LinkedHashMap<>();
        for (String part : text.split("@", -1)) {
            parsePart(part, chosen);
        }
        if (chosen.isEmpty()) {
            throw new HostSyntaxException("no host is named");
        }
        return new NodeChoice(chosen);
    }

    /** Reads {@code h1,h3:0,2}. A part begins with a host. */
    private static void parsePart(String part, Map<String, Set<Integer>> chosen) {
        List<String> hosts = List.of();
        Set<Integer> gpus = new TreeSet<>();
        for (String item : HostList.items(part)) {
            if (GPUS.matcher(item).matches() && !hosts.isEmpty()) {
                if (gpus.isEmpty()) {
                    throw new HostSyntaxException(
                            "'" + item + "' is not a host; GPUs follow a colon: " + hosts.getLast() + ":" + item);
                }
                addGpus(gpus, item);
                continue;
            }
            merge(hosts, gpus, chosen);
            gpus = new TreeSet<>();
            int colon = item.indexOf(':');
            if (colon >= 0) {
                addGpus(gpus, item.substring(colon + 1));
            }
            hosts = HostNames.expand(colon < 0 ? item : item.substring(0, colon));
        }
        merge(hosts, gpus, chosen);
    }

    /** Adds GPUs of hosts. A host that is named again has the GPUs of both; a whole host stays whole. */
    private static void merge(List<String> hosts, Set<Integer> gpus, Map<String, Set<Integer>> chosen) {
        for (String host : hosts) {
            Set<Integer> before = chosen.get(host);
            Set<Integer> all = new TreeSet<>(gpus);
            if (before != null && (before.isEmpty() || gpus.isEmpty())) {
                all.clear();
            } else if (before != null) {
                all.addAll(before);
            }
            chosen.put(host, all);
            if (chosen.size() > HostNames.MAX_HOSTS) {
                throw new HostSyntaxException("more than " + HostNames.MAX_HOSTS + " hosts are named");
            }
        }
    }

    private static void addGpus(Set<Integer> gpus, String range) {
        Matcher matcher = GPUS.matcher(range);
        if (!matcher.matches()) {
            throw new HostSyntaxException(
                    "'" + range + "' is not a GPU; a host's GPUs are numbers, such as h1:0,2" + " or h1:0-3");
        }
        int first = Integer.parseInt(matcher.group(1));
        int last = matcher.group(2) == null ? first : Integer.parseInt(matcher.group(2));
        if (last < first || last >= MAX_GPUS) {
            throw new HostSyntaxException("'" + range + "' is not a range of GPUs from 0 to " + (MAX_GPUS - 1));
        }
        for (int gpu = first; gpu <= last; gpu++) {
            gpus.add(gpu);
        }
    }

    /**
     * Returns the selected hosts in the order of {@code hosts}. A host with selected GPUs has one worker for each of
     * these GPUs.
     *
     * @throws HostSyntaxException if {@code hosts} lacks a selected host
     */
    public List<Host> include(List<Host> hosts) {
        checkKnown(hosts);
        List<Host> included = new ArrayList<>();
        for (Host host : hosts) {
            Set<Integer> gpus = chosen.get(host.name());
            if (gpus != null) {
                included.add(
                        gpus.isEmpty()
                                ? host
                                : new Host(host.name(), OptionalInt.of(gpus.size()), GpuSubset.only(gpus)));
            }
        }
        return included;
    }

    /**
     * Refuses a GPU index beyond the number of workers of its host, if the number counts GPUs: {@code h1:4} has the
     * GPUs 0 to 3.
     *
     * @throws HostSyntaxException with the host and the GPU
     */
    public void checkCounted(List<Host> hosts) {
        for (Host host : hosts) {
            int last = chosen.getOrDefault(host.name(), Set.of()).stream()
                    .mapToInt(Integer::intValue)
                    .max()
                    .orElse(-1);
            if (last >= host.slots().orElse(MAX_GPUS)) {
                int slots = host.slots().getAsInt();
                throw new HostSyntaxException("'" + last + "' is not a GPU of " + host.name() + ":" + slots
                        + ", which has " + (slots == 1 ? "GPU 0 alone" : "the GPUs 0 to " + (slots - 1)));
            }
        }
    }

    /**
     * Returns {@code hosts} without the selected hosts. A host with selected GPUs loses one worker for each of these
     * GPUs, and is left out with its last worker.
     *
     * @throws HostSyntaxException if {@code hosts} lacks a selected host, or if nothing is left
     */
    public List<Host> exclude(List<Host> hosts) {
        checkKnown(hosts);
        List<Host> left = new ArrayList<>();
        for (Host host : hosts) {
            Set<Integer> gpus = chosen.get(host.name());
            if (gpus == null) {
                left.add(host);
            } else if (!gpus.isEmpty() && host.slots().orElse(MAX_GPUS) > gpus.size()) {
                left.add(without(host, gpus));
            }
        }
        if (left.isEmpty()) {
            throw new HostSyntaxException("no host is left");
        }
        return left;
    }

    private static Host without(Host host, Set<Integer> gpus) {
        if (host.slots().isEmpty()) {
            return new Host(host.name(), host.slots(), GpuSubset.without(gpus));
        }
        int left = host.slots().getAsInt() - gpus.size();
        return new Host(host.name(), OptionalInt.of(left), GpuSubset.without(gpus));
    }

    private void checkKnown(List<Host> hosts) {
        List<String> names = hosts.stream().map(Host::name).toList();
        Set<String> known = new HashSet<>(names);
        for (String name : chosen.keySet()) {
            if (!known.contains(name)) {
                throw new HostSyntaxException("'" + name + "' is not among the job's hosts, "
                        + String.join(",", names.subList(0, Math.min(8, names.size())))
                        + (names.size() > 8 ? " and " + (names.size() - 8) + " more" : ""));
            }
        }
    }
}
