package io.jrun.comm.hierarchy;

import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.control.Frame.Peer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The distribution of a group's members over nodes. Nodes are numbered by their lowest group rank, and the members of a
 * node in group rank order. All ranks compute the same topology.
 *
 * <p>A <em>column</em> consists of the members with equal local rank, one from each node. The number of columns is the
 * number of members on the smallest node. Members beyond that on other nodes, the <em>extra</em> ranks, take part only
 * inside their node. Immutable.
 */
final class Topology {
    private final List<List<Integer>> nodes;
    private final int node;
    private final int localRank;
    private final int columnCount;
    private final boolean isInOrder;
    private final int[] nodeOf;
    private final int[] localRankOf;

    /** @param nodes group ranks by node */
    private Topology(List<List<Integer>> nodes, int rank) {
        this.nodes = nodes.stream().map(List::copyOf).toList();
        this.columnCount = nodes.stream().mapToInt(List::size).min().orElseThrow();
        int size = nodes.stream().mapToInt(List::size).sum();
        this.nodeOf = new int[size];
        this.localRankOf = new int[size];
        int next = 0;
        boolean inOrder = true;
        for (int at = 0; at < nodes.size(); at++) {
            List<Integer> members = nodes.get(at);
            for (int there = 0; there < members.size(); there++) {
                int member = members.get(there);
                nodeOf[member] = at;
                localRankOf[member] = there;
                inOrder &= member == next++;
            }
        }
        this.isInOrder = inOrder;
        this.node = nodeOf[rank];
        this.localRank = localRankOf[rank];
    }

    static Topology of(GroupContext group) {
        Map<Integer, List<Integer>> byNode = new LinkedHashMap<>();
        for (int rank = 0; rank < group.size(); rank++) {
            Peer member = group.members().get(rank);
            byNode.computeIfAbsent(member.nodeRank(), _ -> new ArrayList<>()).add(rank);
        }
        return new Topology(List.copyOf(byNode.values()), group.groupRank());
    }

    /** Returns the group ranks by node. */
    List<List<Integer>> nodes() {
        return nodes;
    }

    /** Returns the number of this rank's node. */
    int node() {
        return node;
    }

    /** Returns the number of this rank among its node's members, in the group's order. */
    int localRank() {
        return localRank;
    }

    /** Returns the group rank of this rank. */
    int rank() {
        return local().get(localRank);
    }

    int nodeCount() {
        return nodes.size();
    }

    /** Returns the group ranks of this node's members. */
    List<Integer> local() {
        return nodes.get(node);
    }

    int columnCount() {
        return columnCount;
    }

    boolean isInColumn() {
        return localRank < columnCount;
    }

    /** Returns the group ranks of this rank's column. */
    List<Integer> column() {
        return nodes.stream().map(members -> members.get(localRank)).toList();
    }

    /** Whether group ranks are contiguous on nodes, so that the blocks of a node are contiguous. */
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

    int localRankOf(int groupRank) {
        return localRankOf[groupRank];
    }

    /**
     * Returns the local rank of the nodes' leaders for data from or to a rank: the rank's own if the rank is in a
     * column, else 0.
     */
    int leaderOf(int groupRank) {
        int theirs = localRankOf(groupRank);
        return theirs < columnCount ? theirs : 0;
    }

    boolean isLocal(int groupRank) {
        return nodeOf[groupRank] == node;
    }

    /** Whether this rank is the only rank of the group on its node. */
    boolean isAlone() {
        return local().size() == 1;
    }
}
