package io.jrun.launcher.layout;

import java.util.List;

/** Every rank of a job and its place, in rank order; the nodes in node order. */
public record RankMap(List<Node> nodes, List<Placement> placements) {
    public RankMap {
        nodes = List.copyOf(nodes);
        placements = List.copyOf(placements);
    }

    /** Number of ranks. */
    public int worldSize() {
        return placements.size();
    }

    /** The place of {@code rank}. */
    public Placement placement(int rank) {
        return placements.get(rank);
    }

    /** The places on one node, by local rank. */
    public List<Placement> onNode(int nodeRank) {
        return placements.stream()
                .filter(placement -> placement.nodeRank() == nodeRank)
                .toList();
    }
}
