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
 * what other nodes have beyond that, the <em>extra</em> ranks, takes part inside its node only.
 *
 * @param nodes group ranks by node
 * @param node this rank's node
 * @param place this rank's place among its node's members
 */
record Topology(List<List<Integer>> nodes, int node, int place) {
    Topology {
        nodes = nodes.stream().map(List::copyOf).toList();
    }

    static Topology of(GroupContext group) {
        Map<Integer, List<Integer>> byNode = new LinkedHashMap<>();
        for (int rank = 0; rank < group.size(); rank++) {
            Peer member = group.members().get(rank);
            byNode.computeIfAbsent(member.nodeRank(), _ -> new ArrayList<>()).add(rank);
        }
        List<List<Integer>> nodes = List.copyOf(byNode.values());
        for (int node = 0; node < nodes.size(); node++) {
            int place = nodes.get(node).indexOf(group.rank());
            if (place >= 0) {
                return new Topology(nodes, node, place);
            }
        }
        throw new IllegalStateException("rank " + group.rank() + " is on no node");
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
        return nodes.stream().mapToInt(List::size).min().orElseThrow();
    }

    boolean isInColumn() {
        return place < columnCount();
    }

    /** Group ranks of this rank's column. */
    List<Integer> column() {
        return nodes.stream().map(members -> members.get(place)).toList();
    }

    /** Whether the group ranks follow each other on nodes, so that a node's blocks lie one behind the other. */
    boolean isInOrder() {
        int rank = 0;
        for (List<Integer> members : nodes) {
            for (int member : members) {
                if (member != rank++) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Whether no two members share a node. */
    boolean isOneRankPerNode() {
        return nodes.stream().allMatch(members -> members.size() == 1);
    }

    int nodeOf(int groupRank) {
        int found = 0;
        while (!nodes.get(found).contains(groupRank)) {
            found++;
        }
        return found;
    }

    int placeOf(int groupRank) {
        return nodes.get(nodeOf(groupRank)).indexOf(groupRank);
    }

    /** The place of those who talk for their nodes in what one column carries from or to a rank: the rank's own if it is in one. */
    int driverOf(int groupRank) {
        int place = placeOf(groupRank);
        return place < columnCount() ? place : 0;
    }

    boolean isLocal(int groupRank) {
        return local().contains(groupRank);
    }

    /** Whether it is the only rank of the group on its node. */
    boolean isAlone() {
        return local().size() == 1;
    }
}
