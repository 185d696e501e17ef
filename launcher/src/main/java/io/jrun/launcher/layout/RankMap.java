package io.jrun.launcher.layout;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * All ranks of a job and their placements, in rank order, and the nodes in node order.
 *
 * @param byNode the same placements by node rank, in rank order
 */
public record RankMap(List<Node> nodes, List<Placement> placements, Map<Integer, List<Placement>> byNode) {
    public RankMap {
        nodes = List.copyOf(nodes);
        placements = List.copyOf(placements);
        byNode = Map.copyOf(byNode);
    }

    /** Groups the placements by node. */
    RankMap(List<Node> nodes, List<Placement> placements) {
        this(nodes, placements, byNode(placements));
    }

    private static Map<Integer, List<Placement>> byNode(List<Placement> placements) {
        return placements.stream().collect(Collectors.groupingBy(Placement::nodeRank, Collectors.toUnmodifiableList()));
    }

    /** The number of ranks. */
    public int worldSize() {
        return placements.size();
    }

    /** The placement of {@code rank}. */
    public Placement placement(int rank) {
        return placements.get(rank);
    }

    /** The placements on one node, by local rank. */
    public List<Placement> onNode(int nodeRank) {
        return byNode.getOrDefault(nodeRank, List.of());
    }
}
