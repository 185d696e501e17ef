package io.jrun.launcher.job;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** The hosts of a job, in node order, and how the launcher reaches an agent on each host. */
public record Cluster(List<Host> hosts, Reach reach) {
    public Cluster {
        hosts = List.copyOf(hosts);
    }

    /** The names of the hosts, in node order. */
    public List<String> names() {
        return hosts.stream().map(Host::name).toList();
    }

    /**
     * One host.
     *
     * @param name a host name or a numeric address
     * @param slots the number of workers, empty for the default of all hosts
     * @param gpus the GPUs of the host that the job uses
     * @param user the user that ssh logs in as, empty for the one of ssh's configuration
     */
    public record Host(String name, OptionalInt slots, GpuSubset gpus, String user) {
        /** A host without a user of its own. */
        public Host(String name, OptionalInt slots, GpuSubset gpus) {
            this(name, slots, gpus, "");
        }

        /** A host whose GPUs are all used by the job. */
        public Host(String name, OptionalInt slots) {
            this(name, slots, GpuSubset.ALL);
        }
    }

    /** The way in which the launcher reaches an agent on each host. */
    public sealed interface Reach {}

    /**
     * Standing agents, which the launcher dials.
     *
     * @param agentPort port of the agents, the same on every host
     * @param secretFile the file with the secret of this launcher and the agents
     */
    public record Standing(int agentPort, Path secretFile) implements Reach {}

    /**
     * srun starts agents for this job in a Slurm allocation. The agents dial the launcher.
     *
     * @param words a description of the allocation and of the rule that counted its workers, for the user
     * @param hetGroups each node's component of a heterogeneous job, empty in any other job
     * @param taskGpus each node's GPUs if the job requested GPUs for each task, else empty
     * @param jrun the path of the jrun command on the nodes
     */
    public record Slurm(String words, Map<String, Integer> hetGroups, Map<String, Integer> taskGpus, String jrun)
            implements Reach {
        public Slurm {
            hetGroups = Map.copyOf(hetGroups);
            taskGpus = Map.copyOf(taskGpus);
        }
    }

    /**
     * ssh starts agents for this job. The agents dial the launcher.
     *
     * @param options the user's options for ssh
     * @param jrun the path of the jrun command on the hosts
     * @param users the users that the list of hosts names, by host
     */
    public record Ssh(List<String> options, String jrun, Map<String, String> users) implements Reach {
        public Ssh {
            options = List.copyOf(options);
            users = Map.copyOf(users);
        }
    }

    /** A user or a scheduler starts one jrun on each host, and the jruns meet at a rendezvous. */
    public record ByRendezvous(RendezvousSettings rendezvous) implements Reach {}
}
