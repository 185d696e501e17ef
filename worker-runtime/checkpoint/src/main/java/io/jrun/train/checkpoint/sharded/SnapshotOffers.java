package io.jrun.train.checkpoint.sharded;

import io.jrun.train.json.JsonReader;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The snapshots that the ranks of a round hold. A pure function of the offers, so all ranks choose the same snapshot.
 */
final class SnapshotOffers {
    private final TreeMap<Long, TreeMap<Integer, Integer>> holders = new TreeMap<>();
    private final Map<Long, Integer> ranks = new TreeMap<>();

    private SnapshotOffers() {}

    /**
     * A snapshot of which every part is left.
     *
     * @param holders the rank of this round that gives the part of each rank of the snapshot
     */
    record Choice(long step, Map<Integer, Integer> holders) {}

    /** @param offers the offers of the ranks, in the form of {@code PeerSnapshots} */
    static SnapshotOffers of(List<String> offers) {
        SnapshotOffers all = new SnapshotOffers();
        for (int rank = 0; rank < offers.size(); rank++) {
            for (Object each :
                    ChunkJson.list(JsonReader.readObject(offers.get(rank)).get("held"))) {
                Map<?, ?> held = ChunkJson.object(each);
                long step = ChunkJson.whole(held.get("step"));
                all.ranks.put(step, Math.toIntExact(ChunkJson.whole(held.get("ranks"))));
                all.holders
                        .computeIfAbsent(step, _ -> new TreeMap<>())
                        .putIfAbsent(Math.toIntExact(ChunkJson.whole(held.get("rank"))), rank);
            }
        }
        return all;
    }

    Optional<Choice> newestComplete() {
        return holders.descendingMap().entrySet().stream()
                .filter(step -> step.getValue().size() == ranks.getOrDefault(step.getKey(), 0))
                .findFirst()
                .map(step -> new Choice(step.getKey(), step.getValue()));
    }
}
