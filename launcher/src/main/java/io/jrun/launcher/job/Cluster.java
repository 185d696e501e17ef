package io.jrun.launcher.job;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** The hosts a job runs on, in node order, and how there is an agent on each. */
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
     * @param slots its number of workers, empty for what all hosts get
     * @param gpus of its GPUs, those that the job uses
     */
    public record Host(String name, OptionalInt slots, GpuSubset gpus) {
        /** A host of which the job uses all GPUs. */
        public Host(String name, OptionalInt slots) {
            this(name, slots, GpuSubset.ALL);
        }
    }

    /** How the launcher comes to an agent on each host. */
    public sealed interface Reach {}

    /**
     * Agents stand there, and the launcher dials them.
     *
     * @param agentPort the same on every host
     * @param secretFile what this launcher and the agents share
     */
    public record Standing(int agentPort, Path secretFile) implements Reach {}

    /**
     * srun starts them for this job in a Slurm allocation, and they dial the launcher.
     *
     * @param words the allocation and how its workers were counted, for the user
     * @param hetGroups each node's component of a heterogeneous job, empty in any other
     * @param taskGpus each node's GPUs where they were asked for by task, else empty
     * @param jrun path of the jrun command on the nodes
     */
    public record Slurm(String words, Map<String, Integer> hetGroups, Map<String, Integer> taskGpus, String jrun)
            implements Reach {
        public Slurm {
            hetGroups = Map.copyOf(hetGroups);
            taskGpus = Map.copyOf(taskGpus);
        }
    }

    /**
     * ssh starts them for this job, and they dial the launcher.
     *
     * @param options the user's for ssh
     * @param jrun path of the jrun command on the hosts
     */
    public record Ssh(List<String> options, String jrun) implements Reach {
        public Ssh {
            options = List.copyOf(options);
        }
    }

    /** Somebody starts jrun on each of them, and they meet. */
    public record Met(RendezvousSettings meeting) implements Reach {}
}
