package io.jrun.launcher.layout;

import java.util.List;

/**
 * A machine as its agent describes it.
 *
 * @param nodeRank its place in the order of nodes
 * @param host its name
 * @param address numeric address of the workers' data plane
 * @param cores usable cores
 * @param gpus devices in index order
 * @param masterPort the port reserved for foreign programs, 0 if none
 */
public record Node(int nodeRank, String host, String address, int cores, List<String> gpus, int masterPort) {
    public Node {
        gpus = List.copyOf(gpus);
    }

    /** The same node with these GPUs alone. */
    Node withGpus(List<String> some) {
        return new Node(nodeRank, host, address, cores, some, masterPort);
    }

    /** The same node in another place. */
    public Node withNodeRank(int other) {
        return new Node(other, host, address, cores, gpus, masterPort);
    }

    /** The same node, reached elsewhere. */
    public Node withAddress(String other) {
        return new Node(nodeRank, host, other, cores, gpus, masterPort);
    }
}
