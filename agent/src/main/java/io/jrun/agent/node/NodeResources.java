package io.jrun.agent.node;

import java.util.List;

/**
 * The resources of a machine for workers.
 *
 * @param host the name of the node, for messages
 * @param address numeric address for the connections between workers in a job of only this machine
 * @param cores the number of usable cores, after affinity and cgroup limits
 * @param memoryBytes the usable memory: the smaller of the machine's memory and the limit of the cgroup
 * @param gpus the visible devices as in CUDA_VISIBLE_DEVICES, in index order
 */
public record NodeResources(String host, String address, int cores, long memoryBytes, List<String> gpus) {
    /** Copies the list. */
    public NodeResources {
        gpus = List.copyOf(gpus);
    }
}
