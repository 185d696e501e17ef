package io.jrun.agent.worker;

import io.jrun.agent.node.CpuMap;
import io.jrun.agent.proto.BindPolicy;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Computes the CPUs to which a worker is bound: its part of the cores or of the NUMA domains, in local-rank order.
 * Pure.
 */
public final class CpuBinding {
    private CpuBinding() {}

    /**
     * Returns the words before the command of a worker; none without a binding.
     *
     * @param workers the number of workers of this node
     */
    public static List<String> words(BindPolicy bindTo, int localRank, int workers, CpuMap cpus) {
        List<List<Integer>> units = switch (bindTo) {
            case BIND_POLICY_CORE ->
                cpus.domains().stream().flatMap(Collection::stream).toList();
            case BIND_POLICY_NUMA ->
                cpus.domains().stream()
                        .map(cores -> cores.stream().flatMap(Collection::stream).toList())
                        .toList();
            case BIND_POLICY_NONE, BIND_POLICY_GPU, UNRECOGNIZED -> List.of();
        };
        if (units.isEmpty()) {
            return List.of();
        }
        int from = localRank * units.size() / workers;
        int to = Math.max(from + 1, (localRank + 1) * units.size() / workers);
        return words(
                units.subList(from, to).stream().flatMap(Collection::stream).toList());
    }

    /** Returns the words that bind a command to these CPUs. */
    static List<String> words(List<Integer> cpus) {
        return List.of(
                "taskset",
                "-c",
                cpus.stream().sorted().map(cpu -> Integer.toString(cpu)).collect(Collectors.joining(",")));
    }
}
