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
 * The nodes that Slurm has given to the batch script, salloc or step that jrun runs in.
 *
 * @param jobId of a heterogeneous job, its first component's
 * @param restarts how often Slurm has started this job again
 * @param nodes in Slurm's order
 * @param gpusPerTask whether GPUs were asked for by task, so that a step of one task has only one task's
 */
public record Allocation(String jobId, int restarts, List<AllocatedNode> nodes, boolean gpusPerTask) {
    public Allocation {
        nodes = List.copyOf(nodes);
    }

    /**
     * Reads it from the environment; a node's GPUs, which are not always told there, from {@code scontrol}.
     *
     * @return empty outside of any allocation
     * @throws AllocationException if it cannot be understood
     */
    public static Optional<Allocation> of(Map<String, String> environment, JobQuery scontrol) {
        return environment.containsKey("SLURM_JOB_ID")
                ? Optional.of(new AllocationReader(environment, scontrol).read())
                : Optional.empty();
    }

    /** As hosts, with the workers that each gets unless {@code --nproc-per-node} says. */
    public List<Host> hosts() {
        List<Host> hosts = new ArrayList<>();
        nodes.forEach(node ->
                hosts.add(new Host(node.name(), OptionalInt.of(node.workers().count()))));
        return hosts;
    }

    /** Where the number of workers on each node comes from, in words. */
    public String countedBy() {
        Set<String> rules = new LinkedHashSet<>();
        nodes.forEach(node -> rules.add(node.workers().from()));
        return String.join("; ", rules);
    }

    /**
     * How agents are started on it.
     *
     * @param countedBy where the number of workers on each node comes from, in words
     * @param jrun path of the jrun command, the same on all nodes
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
        return "Slurm job " + jobId + (restarts > 0 ? ", started again for the " + restarts + ". time" : "") + ", "
                + (nodes.size() == 1 ? "1 node" : nodes.size() + " nodes");
    }
}
