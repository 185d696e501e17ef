package io.jrun.launcher.coordinator;

import io.jrun.launcher.layout.RankMap;
import java.util.List;
import java.util.Map;

/**
 * Who takes part in a round. Immutable.
 *
 * @param ids of the nodes, by node rank
 * @param ranks where each rank runs
 * @param kept processes of the round before that take a rank of this one, by rank
 */
record Lineup(List<Integer> ids, RankMap ranks, Map<Integer, Long> kept) {
    public Lineup {
        ids = List.copyOf(ids);
        kept = Map.copyOf(kept);
    }

    int worldSize() {
        return ranks.worldSize();
    }

    boolean has(int id) {
        return ids.contains(id);
    }

    int nodeRank(int id) {
        return ids.indexOf(id);
    }

    /** The id of the node on which {@code rank} runs. */
    int idOf(int rank) {
        return ids.get(ranks.placement(rank).nodeRank());
    }
}
