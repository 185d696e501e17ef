package io.jrun.agent.node;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The environment variables of NCCL, libfabric and UCX, which all workers of a job need alike. Stateless. */
public final class NetworkVariables {
    private static final List<String> PREFIXES = List.of("NCCL_", "FI_", "UCX_");

    private NetworkVariables() {}

    /** These variables of {@code environment}. */
    public static Map<String, String> of(Map<String, String> environment) {
        Map<String, String> found = new TreeMap<>(environment);
        found.keySet().removeIf(name -> PREFIXES.stream().noneMatch(name::startsWith));
        return found;
    }

    /** The same as {@code NAME=VALUE}, in the order of the names. */
    public static List<String> texts(Map<String, String> environment) {
        return of(environment).entrySet().stream()
                .map(variable -> variable.getKey() + "=" + variable.getValue())
                .toList();
    }
}
