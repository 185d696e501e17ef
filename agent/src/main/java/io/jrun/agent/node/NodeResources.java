package io.jrun.agent.node;

import java.util.List;

/**
 * What one machine offers to workers.
 *
 * @param host the node's name, for messages
 * @param address numeric address of the workers' data plane in a job of this machine alone
 * @param cores usable cores: affinity and cgroup limits applied
 * @param memoryBytes usable memory: the machine's or the cgroup's, whichever is smaller
 * @param gpus visible devices as CUDA_VISIBLE_DEVICES would name them, in index order
 */
public record NodeResources(String host, String address, int cores, long memoryBytes, List<String> gpus) {
    /** Copies the list. */
    public NodeResources {
        gpus = List.copyOf(gpus);
    }
}
