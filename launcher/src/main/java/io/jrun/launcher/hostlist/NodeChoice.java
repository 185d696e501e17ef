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
 * Hosts picked out of a list, whole or some of their GPUs: {@code h1,h3:0,2} or, as DeepSpeed writes it,
 * {@code h1@h3:0,2}; names in Slurm's grammar, GPUs by their places from 0, also as {@code h[1-4]:0-3}. Immutable.
 */
public final class NodeChoice {
    /** More than any machine has. */
    private static final int MOST_GPUS = 1024;

    private static final String GPU = "(0|[1-9][0-9]{0,3})";

    private static final Pattern GPUS = Pattern.compile(GPU + "(?:-" + GPU + ")?");

    /** GPUs by host; none for the whole host. */
    private final Map<String, Set<Integer>> chosen;

    private NodeChoice(Map<String, Set<Integer>> chosen) {
        this.chosen = chosen;
    }

    /**
     * Reads {@code text}.
     *
     * @throws HostSyntaxException if it cannot be read, or names no host or one twice
     */
    public static NodeChoice parse(String text) {
        Map<String, Set<Integer>> chosen = new LinkedHashMap<>();
        String last = "";
        Set<Integer> gpus = Set.of();
        for (String item : HostList.items(text.replace('@', ' '))) {
            if (GPUS.matcher(item).matches() && !last.isEmpty()) {
                if (gpus.isEmpty()) {
                    throw new HostSyntaxException(
                            "'" + item + "' is no host; GPUs follow a colon: " + last + ":" + item);
                }
                addGpus(gpus, item);
                continue;
            }
            gpus = new TreeSet<>(); // of all hosts of this expression
            int colon = item.indexOf(':');
            if (colon >= 0) {
                addGpus(gpus, item.substring(colon + 1));
            }
            for (String host : HostNames.expand(colon < 0 ? item : item.substring(0, colon))) {
                last = host;
                if (chosen.put(host, gpus) != null) {
                    throw new HostSyntaxException("it names '" + host + "' twice");
                }
                if (chosen.size() > HostNames.MOST) {
                    throw new HostSyntaxException("more than " + HostNames.MOST + " hosts are named");
                }
            }
        }
        if (chosen.isEmpty()) {
            throw new HostSyntaxException("no host is named");
        }
        return new NodeChoice(chosen);
    }

    private static void addGpus(Set<Integer> gpus, String range) {
        Matcher matcher = GPUS.matcher(range);
        if (!matcher.matches()) {
            throw new HostSyntaxException("'" + range + "' is no GPU; a host's GPUs are numbers, as h1:0,2 or h1:0-3");
        }
        int first = Integer.parseInt(matcher.group(1));
        int last = matcher.group(2) == null ? first : Integer.parseInt(matcher.group(2));
        if (last < first || last >= MOST_GPUS) {
            throw new HostSyntaxException("'" + range + "' is no range of GPUs from 0 to " + (MOST_GPUS - 1));
        }
        for (int gpu = first; gpu <= last; gpu++) {
            gpus.add(gpu);
        }
    }

    /**
     * Those of {@code hosts} that are named here, in their own order. Where GPUs are named, there is a worker for each of
     * them.
     *
     * @throws HostSyntaxException if one named here is not among them
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
     * Refuses a GPU beyond the workers that were counted for its host, where these count its GPUs: {@code h1:4} has 0 to 3.
     *
     * @throws HostSyntaxException with the host and the GPU
     */
    public void checkCounted(List<Host> hosts) {
        for (Host host : hosts) {
            int last = chosen.getOrDefault(host.name(), Set.of()).stream()
                    .mapToInt(Integer::intValue)
                    .max()
                    .orElse(-1);
            if (last >= host.slots().orElse(MOST_GPUS)) {
                int slots = host.slots().getAsInt();
                throw new HostSyntaxException("'" + last + "' is no GPU of " + host.name() + ":" + slots
                        + ", which has " + (slots == 1 ? "GPU 0 alone" : "the GPUs 0 to " + (slots - 1)));
            }
        }
    }

    /**
     * {@code hosts} without those that are named here. Where GPUs are named, the host has as many workers less.
     *
     * @throws HostSyntaxException if one named here is not among them, or nothing would be left
     */
    public List<Host> exclude(List<Host> hosts) {
        checkKnown(hosts);
        List<Host> left = new ArrayList<>();
        for (Host host : hosts) {
            Set<Integer> gpus = chosen.get(host.name());
            if (gpus == null) {
                left.add(host);
            } else if (!gpus.isEmpty()) {
                left.add(without(host, gpus));
            }
        }
        if (left.isEmpty()) {
            throw new HostSyntaxException("it leaves no host");
        }
        return left;
    }

    private static Host without(Host host, Set<Integer> gpus) {
        if (host.slots().isEmpty()) {
            return new Host(host.name(), host.slots(), GpuSubset.without(gpus));
        }
        int slots = host.slots().getAsInt() - gpus.size();
        if (slots < 1) {
            throw new HostSyntaxException("it leaves " + host.name() + " no worker; leave the whole host out");
        }
        return new Host(host.name(), OptionalInt.of(slots), GpuSubset.without(gpus));
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
