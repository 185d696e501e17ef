package io.jrun.launcher.job;

import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;

/**
 * The hosts a job runs on, in node order, and how their standing agents are reached.
 *
 * @param agentPort the same on every host
 * @param secretFile what this launcher and the agents share
 */
public record Cluster(List<Host> hosts, int agentPort, Path secretFile) {
    public Cluster {
        hosts = List.copyOf(hosts);
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
}
