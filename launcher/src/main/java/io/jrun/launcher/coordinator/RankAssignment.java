package io.jrun.launcher.coordinator;

import io.jrun.launcher.job.NodePolicy;
import io.jrun.launcher.layout.Layout;
import io.jrun.launcher.layout.LayoutRules;
import io.jrun.launcher.layout.Node;
import io.jrun.launcher.layout.RankMap;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

/**
 * Decides which nodes take part in the next round, and with which node ranks. A node keeps its node rank. A new node
 * takes the node rank of a lost node, so that all other nodes keep their node ranks. A node rank without a node is
 * removed, and later nodes move up. Further nodes are added at the end.
 *
 * @param nodes the limits for the number of nodes
 * @param rules of the layout, with ids in place of node ranks
 * @param addresses replaces the addresses of nodes by those at which the nodes reach each other
 */
record RankAssignment(NodePolicy nodes, LayoutRules rules, UnaryOperator<List<Node>> addresses) {
    /** Whether the nodes that have joined are enough for a round. */
    boolean isEnough(JobProgress jobProgress) {
        return jobProgress.present().size() >= nodes.min();
    }

    /** Whether a node has joined that a larger round could use. */
    boolean canGrow(JobProgress jobProgress, Round round) {
        int members = round.membership().ids().size();
        return members < nodes.max() && jobProgress.present().size() > members;
    }

    /**
     * The nodes and ranks of the next round.
     *
     * @throws io.jrun.launcher.layout.LayoutException if a node cannot hold its workers
     */
    Membership next(JobProgress jobProgress, Optional<Round> before) {
        List<Integer> ids = idsByNodeRank(
                jobProgress, before.map(round -> round.membership().ids()).orElse(List.of()));
        List<Node> assigned = new ArrayList<>();
        for (int id : ids) {
            assigned.add(Objects.requireNonNull(jobProgress.present().get(id)).withNodeRank(assigned.size()));
        }
        List<Node> reached = addresses.apply(assigned);
        RankMap ranks = Layout.place(reached, rules.of(ids));
        return new Membership(
                ids, ranks, before.map(round -> kept(round, ids, ranks)).orElse(Map.of()));
    }

    private List<Integer> idsByNodeRank(JobProgress jobProgress, List<Integer> before) {
        NavigableMap<Integer, Node> free = new TreeMap<>(jobProgress.present());
        before.forEach(free::remove);
        List<Integer> ids = new ArrayList<>();
        for (int id : before) {
            if (jobProgress.present().containsKey(id)) {
                ids.add(id);
            } else if (!free.isEmpty()) {
                ids.add(free.pollFirstEntry().getKey());
            }
        }
        while (ids.size() < nodes.max() && !free.isEmpty()) {
            ids.add(free.pollFirstEntry().getKey());
        }
        return ids;
    }

    /** A parked process continues on its node, under its local rank. */
    private static Map<Integer, Long> kept(Round before, List<Integer> ids, RankMap ranks) {
        Map<Integer, Integer> nodeRanks = Membership.nodeRanks(ids);
        Map<Integer, Long> kept = new HashMap<>();
        before.parked().forEach((pid, rank) -> {
            Integer nodeRank = nodeRanks.get(before.membership().idOf(rank));
            int localRank = before.membership().ranks().placement(rank).localRank();
            if (nodeRank != null && localRank < ranks.onNode(nodeRank).size()) {
                kept.put(ranks.onNode(nodeRank).get(localRank).rank(), pid);
            }
        });
        return kept;
    }
}
