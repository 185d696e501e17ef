package io.jrun.agent.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The CPUs that this process may use, with the numbers of the kernel.
 *
 * @param domains the NUMA domains in order, each with its cores, each core with its hardware threads
 */
public record CpuMap(List<List<List<Integer>>> domains) {
    private static final String CPUS = "sys/devices/system/cpu/cpu";
    private static final String DOMAINS = "sys/devices/system/node/node";

    /** The limit of NUMA domains. Linux supports no more. */
    private static final int MAX_DOMAINS = 1024;

    public CpuMap {
        domains = List.copyOf(domains);
    }

    /**
     * Reads the map of this machine.
     *
     * @param root the folder with /proc and /sys. Without these files the map has one domain, or cores with one thread
     */
    public static CpuMap probe(Path root) {
        Set<Integer> left = new TreeSet<>(allowed(root));
        Map<Integer, Set<Integer>> byDomain = new TreeMap<>();
        for (int domain = 0; domain < MAX_DOMAINS && !left.isEmpty(); domain++) {
            Set<Integer> cpus = new TreeSet<>(list(text(root.resolve(DOMAINS + domain + "/cpulist"))));
            cpus.retainAll(left);
            left.removeAll(cpus);
            if (!cpus.isEmpty()) {
                byDomain.put(domain, cpus);
            }
        }
        if (!left.isEmpty()) {
            byDomain.put(MAX_DOMAINS, left);
        }
        return new CpuMap(
                byDomain.values().stream().map(cpus -> cores(cpus, root)).toList());
    }

    /** All these CPUs. */
    public Set<Integer> all() {
        Set<Integer> all = new TreeSet<>();
        domains.forEach(cores -> cores.forEach(all::addAll));
        return all;
    }

    private static List<List<Integer>> cores(Set<Integer> cpus, Path root) {
        Map<String, List<Integer>> cores = new LinkedHashMap<>();
        for (int cpu : cpus) {
            String siblings = text(root.resolve(CPUS + cpu + "/topology/thread_siblings_list"));
            cores.computeIfAbsent(siblings.isEmpty() ? "cpu" + cpu : siblings, _ -> new ArrayList<>())
                    .add(cpu);
        }
        return List.copyOf(cores.values());
    }

    private static List<Integer> allowed(Path root) {
        String key = "Cpus_allowed_list:";
        return text(root.resolve("proc/self/status"))
                .lines()
                .filter(line -> line.startsWith(key))
                .findFirst()
                .map(line -> list(line.substring(key.length())))
                .orElse(List.of());
    }

    /** Expands {@code 0-3,8} to numbers. */
    static List<Integer> list(String text) {
        List<Integer> numbers = new ArrayList<>();
        for (String range : text.strip().split(",", -1)) {
            if (range.matches("[0-9]+(-[0-9]+)?")) {
                int dash = range.indexOf('-');
                int last = Integer.parseInt(range.substring(dash + 1));
                for (int i = dash < 0 ? last : Integer.parseInt(range.substring(0, dash)); i <= last; i++) {
                    numbers.add(i);
                }
            }
        }
        return numbers;
    }

    private static String text(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            return ""; // a kernel without this file
        }
    }
}
