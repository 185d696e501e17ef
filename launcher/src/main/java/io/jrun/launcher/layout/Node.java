package io.jrun.launcher.layout;

import io.jrun.launcher.job.WorkerCount;
import java.util.List;
import java.util.Optional;

/**
 * A machine as its agent describes it.
 *
 * @param nodeRank its place in the order of nodes
 * @param host its name
 * @param address numeric address of the workers' data plane
 * @param cores usable cores
 * @param gpus devices in index order
 * @param masterPort the port reserved for foreign programs, 0 if none
 * @param workers that it says it is to have, empty to go by the job's rules
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

    /** One that says nothing of its workers. */
    public Node(int nodeRank, String host, String address, int cores, List<String> gpus, int masterPort) {
        this(nodeRank, host, address, cores, gpus, masterPort, Optional.empty());
    }

    /** The same node with these GPUs alone. */
    Node withGpus(List<String> some) {
        return new Node(nodeRank, host, address, cores, some, masterPort, workers);
    }

    /** The same node in another place. */
    public Node withNodeRank(int other) {
        return new Node(other, host, address, cores, gpus, masterPort, workers);
    }

    /** The same node, reached elsewhere. */
    public Node withAddress(String other) {
        return new Node(nodeRank, host, other, cores, gpus, masterPort, workers);
    }
}
