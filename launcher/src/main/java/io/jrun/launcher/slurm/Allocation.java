package io.jrun.launcher.slurm;

import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.Cluster.Host;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * The nodes that Slurm has allocated to the batch script, salloc or step in which jrun runs.
 *
 * @param jobId id of the job; of a heterogeneous job, the id of its first component
 * @param restarts how often Slurm has started this job again
 * @param nodes in Slurm's order
 * @param gpusPerTask whether the job requested GPUs for each task; a step of one task then has only the GPUs of one
 *     task
 */
public record Allocation(String jobId, int restarts, List<AllocatedNode> nodes, boolean gpusPerTask) {
    public Allocation {
        nodes = List.copyOf(nodes);
    }

    /**
     * Reads the allocation from the environment, and from {@code scontrol} the GPUs that the environment lacks.
     *
     * @return empty outside an allocation
     * @throws AllocationException if the environment is unreadable
     */
    public static Optional<Allocation> of(Map<String, String> environment, JobQuery scontrol) {
        return environment.containsKey("SLURM_JOB_ID")
                ? Optional.of(new AllocationReader(environment, scontrol).read())
                : Optional.empty();
    }

    /** The hosts, with the number of workers of each without {@code --nproc-per-node}. */
    public List<Host> hosts() {
        List<Host> hosts = new ArrayList<>();
        nodes.forEach(node ->
                hosts.add(new Host(node.name(), OptionalInt.of(node.workers().count()))));
        return hosts;
    }

    /** The rule that gave the number of workers of each node, in words. */
    public String countedBy() {
        Set<String> rules = new LinkedHashSet<>();
        nodes.forEach(node -> rules.add(node.workers().from()));
        return String.join("; ", rules);
    }

    /**
     * Describes how to start agents in this allocation.
     *
     * @param countedBy the rule that gave the number of workers of each node, in words
     * @param jrun the path of the jrun command on all nodes
     */
    public Cluster.Slurm reach(String countedBy, String jrun) {
        boolean heterogeneous = nodes.stream().anyMatch(node -> node.hetGroup() > 0);
        Map<String, Integer> groups = new HashMap<>();
        Map<String, Integer> gpus = new HashMap<>();
        for (AllocatedNode node : nodes) {
            if (heterogeneous) {
                groups.put(node.name(), node.hetGroup());
            }
            if (gpusPerTask) {
                gpus.put(node.name(), node.gpus());
            }
        }
        return new Cluster.Slurm(describe() + "; workers on each: " + countedBy, groups, gpus, jrun);
    }

    private String describe() {
        return "Slurm job " + jobId + (restarts > 0 ? ", restart " + restarts : "") + ", "
                + (nodes.size() == 1 ? "1 node" : nodes.size() + " nodes");
    }
}
