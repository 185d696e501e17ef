package io.jrun.launcher.cli;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The variables by which Kubernetes tells a pod its place among the pods of its job, as defaults of options. Kubeflow
 * Trainer sets PET_* and needs no reader of its own. Stateless.
 *
 * <p>Sources: LeaderWorkerSet (LWS_LEADER_ADDRESS, LWS_GROUP_SIZE, LWS_WORKER_INDEX), the svc and env plugins of
 * Volcano (VC_TASK_INDEX, VC_TASK_HOSTS with the name of the task), Indexed Job and JobSet (JOB_COMPLETION_INDEX).
 */
final class KubernetesVariables {
    private static final String LEADER = "LWS_LEADER_ADDRESS";
    private static final String GROUP_SIZE = "LWS_GROUP_SIZE";
    private static final String WORKER_INDEX = "LWS_WORKER_INDEX";
    private static final List<String> TASK_INDEX = List.of("VC_TASK_INDEX", "VK_TASK_INDEX");
    private static final String COMPLETION_INDEX = "JOB_COMPLETION_INDEX";

    /** A default and the variable from which it comes. */
    record Default(String value, String variable) {}

    private KubernetesVariables() {}

    /** The defaults: the number of this node, the number of nodes and the address of node 0, as far as they are known. */
    static Map<LaunchOption, Default> of(Map<String, String> environment) {
        Map<LaunchOption, Default> defaults = new EnumMap<>(LaunchOption.class);
        Optional<String> task =
                TASK_INDEX.stream().filter(environment::containsKey).findFirst();
        if (environment.containsKey(GROUP_SIZE)) {
            put(defaults, LaunchOption.NNODES, environment, GROUP_SIZE);
            put(defaults, LaunchOption.NODE_RANK, environment, WORKER_INDEX);
            put(defaults, LaunchOption.RDZV_ENDPOINT, environment, LEADER);
        } else if (task.isPresent()) {
            put(defaults, LaunchOption.NODE_RANK, environment, task.get());
            putHosts(defaults, environment);
        } else {
            put(defaults, LaunchOption.NODE_RANK, environment, COMPLETION_INDEX);
        }
        return defaults;
    }

    /** The hosts of Volcano's only task. With several tasks, such as a master and workers, the user names the nodes. */
    private static void putHosts(Map<LaunchOption, Default> defaults, Map<String, String> environment) {
        TreeMap<String, String> lists = new TreeMap<>();
        environment.forEach((name, value) -> {
            if (name.matches("VC_.+_HOSTS") && !value.isEmpty()) {
                lists.put(name, value);
            }
        });
        if (lists.size() == 1) {
            String[] hosts = lists.firstEntry().getValue().split(",", -1);
            defaults.put(LaunchOption.NNODES, new Default(Integer.toString(hosts.length), lists.firstKey()));
            defaults.put(LaunchOption.RDZV_ENDPOINT, new Default(hosts[0].strip(), lists.firstKey()));
        }
    }

    private static void put(
            Map<LaunchOption, Default> defaults, LaunchOption option, Map<String, String> environment, String name) {
        String value = environment.getOrDefault(name, "");
        if (!value.isEmpty()) {
            defaults.put(option, new Default(value, name));
        }
    }
}
