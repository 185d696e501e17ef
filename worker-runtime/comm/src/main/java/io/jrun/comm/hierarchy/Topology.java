package io.jrun.comm.hierarchy;

import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.control.Frame.Peer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How the members of a group lie on nodes. Nodes are counted in the order in which the group ranks first meet them, and a
 * node's members in group rank order: all ranks derive the same.
 *
 * <p>A <em>column</em> is the members of equal place, one from each node. There are as many as the smallest node has members;
 * what other nodes have beyond that, the <em>extra</em> ranks, takes part inside its node only. Immutable.
 */
final class Topology {
    private final List<List<Integer>> nodes;
    private final int node;
    private final int place;
    private final int columnCount;
    private final boolean isInOrder;
    private final int[] nodeOf;
    private final int[] placeOf;

    /** @param nodes group ranks by node */
    private Topology(List<List<Integer>> nodes, int rank) {
        this.nodes = nodes.stream().map(List::copyOf).toList();
        this.columnCount = nodes.stream().mapToInt(List::size).min().orElseThrow();
        int size = nodes.stream().mapToInt(List::size).sum();
        this.nodeOf = new int[size];
        this.placeOf = new int[size];
        int next = 0;
        boolean inOrder = true;
        for (int at = 0; at < nodes.size(); at++) {
            List<Integer> members = nodes.get(at);
            for (int there = 0; there < members.size(); there++) {
                int member = members.get(there);
                nodeOf[member] = at;
                placeOf[member] = there;
                inOrder &= member == next++;
            }
        }
        this.isInOrder = inOrder;
        this.node = nodeOf[rank];
        this.place = placeOf[rank];
    }

    static Topology of(GroupContext group) {
        Map<Integer, List<Integer>> byNode = new LinkedHashMap<>();
        for (int rank = 0; rank < group.size(); rank++) {
            Peer member = group.members().get(rank);
            byNode.computeIfAbsent(member.nodeRank(), _ -> new ArrayList<>()).add(rank);
        }
        return new Topology(List.copyOf(byNode.values()), group.groupRank());
    }

    /** Group ranks by node. */
    List<List<Integer>> nodes() {
        return nodes;
    }

    /** This rank's node. */
    int node() {
        return node;
    }

    /** This rank's place among its node's members. */
    int place() {
        return place;
    }

    /** This rank. */
    int rank() {
        return local().get(place);
    }

    int nodeCount() {
        return nodes.size();
    }

    /** Group ranks of this node's members. */
    List<Integer> local() {
        return nodes.get(node);
    }

    int columnCount() {
        return columnCount;
    }

    boolean isInColumn() {
        return place < columnCount;
    }

    /** Group ranks of this rank's column. */
    List<Integer> column() {
        return nodes.stream().map(members -> members.get(place)).toList();
    }

    /** Whether the group ranks follow each other on nodes, so that a node's blocks lie one behind the other. */
    boolean isInOrder() {
        return isInOrder;
    }

    /** Whether no two members share a node. */
    boolean isOneRankPerNode() {
        return nodes.stream().allMatch(members -> members.size() == 1);
    }

    int nodeOf(int groupRank) {
        return nodeOf[groupRank];
    }

    int placeOf(int groupRank) {
        return placeOf[groupRank];
    }

    /** The place of those who talk for their nodes in what one column carries from or to a rank: the rank's own if it is in one. */
    int driverOf(int groupRank) {
        int theirs = placeOf(groupRank);
        return theirs < columnCount ? theirs : 0;
    }

    boolean isLocal(int groupRank) {
        return nodeOf[groupRank] == node;
    }

    /** Whether it is the only rank of the group on its node. */
    boolean isAlone() {
        return local().size() == 1;
    }
}
