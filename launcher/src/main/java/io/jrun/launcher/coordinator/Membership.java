package io.jrun.launcher.coordinator;

import io.jrun.launcher.layout.RankMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The nodes and ranks of a round. Immutable.
 *
 * @param ids of the nodes, by node rank
 * @param ranks where each rank runs
 * @param kept ids of parked processes that continue under a rank of this round, by rank
 * @param nodeRanks the node ranks, by id
 */
record Membership(List<Integer> ids, RankMap ranks, Map<Integer, Long> kept, Map<Integer, Integer> nodeRanks) {
    public Membership {
        ids = List.copyOf(ids);
        kept = Map.copyOf(kept);
        nodeRanks = Map.copyOf(nodeRanks);
    }

    Membership(List<Integer> ids, RankMap ranks, Map<Integer, Long> kept) {
        this(ids, ranks, kept, nodeRanks(ids));
    }

    static Map<Integer, Integer> nodeRanks(List<Integer> ids) {
        Map<Integer, Integer> nodeRanks = new HashMap<>();
        ids.forEach(id -> nodeRanks.put(id, nodeRanks.size()));
        return nodeRanks;
    }

    int worldSize() {
        return ranks.worldSize();
    }

    boolean has(int id) {
        return nodeRanks.containsKey(id);
    }

    int nodeRank(int id) {
        return Objects.requireNonNull(nodeRanks.get(id));
    }

    /** The id of the node on which {@code rank} runs. */
    int idOf(int rank) {
        return ids.get(ranks.placement(rank).nodeRank());
    }
}
