package io.jrun.launcher.layout;

import io.jrun.launcher.job.WorkerCount;
import java.util.List;
import java.util.Optional;

/**
 * A machine, as described by its agent.
 *
 * @param nodeRank the position in the order of nodes
 * @param host its name
 * @param address numeric address for the connections between workers
 * @param cores usable cores
 * @param gpus devices in index order
 * @param masterPort the port reserved for programs with a rendezvous of their own, 0 if none
 * @param workers the number of workers that the node itself requests, empty to use the rules of the job
 */
public record Node(
        int nodeRank,
        String host,
        String address,
        int cores,
        List<String> gpus,
        int masterPort,
        Optional<WorkerCount> workers) {
    public Node {
        gpus = List.copyOf(gpus);
    }

    /** A node that requests no number of workers. */
    public Node(int nodeRank, String host, String address, int cores, List<String> gpus, int masterPort) {
        this(nodeRank, host, address, cores, gpus, masterPort, Optional.empty());
    }

    /** The same node with only these GPUs. */
    Node withGpus(List<String> some) {
        return new Node(nodeRank, host, address, cores, some, masterPort, workers);
    }

    /** The same node with another node rank. */
    public Node withNodeRank(int other) {
        return new Node(other, host, address, cores, gpus, masterPort, workers);
    }

    /** The same node with another address. */
    public Node withAddress(String other) {
        return new Node(nodeRank, host, other, cores, gpus, masterPort, workers);
    }
}
