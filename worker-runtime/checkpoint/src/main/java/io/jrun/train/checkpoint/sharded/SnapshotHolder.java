package io.jrun.train.checkpoint.sharded;

import io.jrun.comm.Codec;
import io.jrun.comm.World;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;

/**
 * One rank before a snapshot.
 *
 * @param memory name of the memory that the rank has for the snapshot; {@link #NO_MEMORY} if it has none
 * @param proposal a random name for new memory
 */
record SnapshotHolder(int localRank, int nodeRank, String memory, String proposal) {
    static final String NO_MEMORY = "none";

    /** All ranks. Collective. */
    static List<SnapshotHolder> all(World world, String memory) {
        String proposal = HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
        String own = world.localRank() + " " + world.nodeRank() + " " + memory + " " + proposal;
        return world.group().objects().allGather(own, Codec.STRING).stream()
                .map(SnapshotHolder::parse)
                .toList();
    }

    private static SnapshotHolder parse(String text) {
        String[] words = text.split(" ", 4);
        return new SnapshotHolder(Integer.parseInt(words[0]), Integer.parseInt(words[1]), words[2], words[3]);
    }

    /** The ranks in an order in which neighbours are on different nodes, as far as possible. */
    static List<Integer> order(List<SnapshotHolder> ranks) {
        return IntStream.range(0, ranks.size())
                .boxed()
                .sorted(Comparator.comparingInt(
                                (Integer rank) -> ranks.get(rank).localRank())
                        .thenComparingInt(rank -> ranks.get(rank).nodeRank()))
                .toList();
    }
}
