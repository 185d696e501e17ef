package io.jrun.launcher.coordinator;

import io.jrun.launcher.job.NodePolicy;
import io.jrun.launcher.layout.Layout;
import io.jrun.launcher.layout.Node;
import io.jrun.launcher.layout.RankMap;
import io.jrun.launcher.layout.Rules;
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
 * Decides who takes part in the next round, and as what. A node keeps its seat; one that has come takes the seat of one that is
 * gone, so that all others keep their ranks too; seats for which nobody is left close up; more are added at the end.
 *
 * @param nodes how many take part
 * @param rules of their layout, with ids in place of node ranks
 * @param addresses by which these nodes reach each other
 */
record Succession(NodePolicy nodes, Rules rules, UnaryOperator<List<Node>> addresses) {
    /** Whether a round can start with these. */
    boolean isEnough(Ledger ledger) {
        return ledger.present().size() >= nodes.min();
    }

    /** Whether a node is there that a larger world would have room for. */
    boolean canGrow(Ledger ledger, Round round) {
        int seats = round.lineup().ids().size();
        return seats < nodes.max() && ledger.present().size() > seats;
    }

    /**
     * The next round's lineup.
     *
     * @throws io.jrun.launcher.layout.LayoutException if a node cannot hold the workers it is to have
     */
    Lineup next(Ledger ledger, Optional<Round> before) {
        List<Integer> ids =
                seats(ledger, before.map(round -> round.lineup().ids()).orElse(List.of()));
        List<Node> seated = new ArrayList<>();
        for (int id : ids) {
            seated.add(Objects.requireNonNull(ledger.present().get(id)).withNodeRank(seated.size()));
        }
        List<Node> reached = addresses.apply(seated);
        RankMap ranks = Layout.place(reached, rules.of(ids));
        return new Lineup(
                ids, ranks, before.map(round -> kept(round, ids, ranks)).orElse(Map.of()));
    }

    private List<Integer> seats(Ledger ledger, List<Integer> before) {
        NavigableMap<Integer, Node> free = new TreeMap<>(ledger.present());
        before.forEach(free::remove);
        List<Integer> ids = new ArrayList<>();
        for (int id : before) {
            if (ledger.present().containsKey(id)) {
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

    /** A parked process goes on where it is: on its node, under its local rank. */
    private static Map<Integer, Long> kept(Round before, List<Integer> ids, RankMap ranks) {
        Map<Integer, Integer> nodeRanks = Lineup.nodeRanks(ids);
        Map<Integer, Long> kept = new HashMap<>();
        before.parked().forEach((pid, rank) -> {
            Integer nodeRank = nodeRanks.get(before.lineup().idOf(rank));
            int localRank = before.lineup().ranks().placement(rank).localRank();
            if (nodeRank != null && localRank < ranks.onNode(nodeRank).size()) {
                kept.put(ranks.onNode(nodeRank).get(localRank).rank(), pid);
            }
        });
        return kept;
    }
}
