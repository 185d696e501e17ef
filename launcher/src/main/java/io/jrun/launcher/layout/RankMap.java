package io.jrun.launcher.layout;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Every rank of a job and its place, in rank order; the nodes in node order.
 *
 * @param byNode the same places by node rank, in rank order
 */
public record RankMap(List<Node> nodes, List<Placement> placements, Map<Integer, List<Placement>> byNode) {
    public RankMap {
        nodes = List.copyOf(nodes);
        placements = List.copyOf(placements);
        byNode = Map.copyOf(byNode);
    }

    /** The same, sorted by node. */
    RankMap(List<Node> nodes, List<Placement> placements) {
        this(nodes, placements, byNode(placements));
    }

    private static Map<Integer, List<Placement>> byNode(List<Placement> placements) {
        return placements.stream().collect(Collectors.groupingBy(Placement::nodeRank, Collectors.toUnmodifiableList()));
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
        return byNode.getOrDefault(nodeRank, List.of());
    }
}
