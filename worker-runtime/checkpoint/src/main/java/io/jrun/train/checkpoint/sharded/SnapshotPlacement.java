package io.jrun.train.checkpoint.sharded;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Decides which ranks hold the snapshot of a rank: Gemini's placement. Ranks form groups of {@code copies} members, and
 * each member holds the snapshots of its group. If the number of ranks is not a multiple, the last group and the ranks
 * that are left form a ring, in which each snapshot goes to the next ranks. For simultaneous losses groups lose a
 * snapshot less often than a ring. A pure function.
 *
 * @param order the ranks in the order in which groups are made; neighbours are best on different nodes
 * @param copies number of copies of each snapshot, the rank's own included
 */
record SnapshotPlacement(List<Integer> order, int copies) {
    SnapshotPlacement {
        order = List.copyOf(order);
        if (copies < 1 || copies > order.size()) {
            throw new IllegalArgumentException(
                    copies + " copies of a snapshot among " + order.size() + " ranks: expected 1 to " + order.size());
        }
    }

    /** The ranks that hold the snapshot of {@code rank}, itself first. */
    List<Integer> holders(int rank) {
        List<Integer> group = groupOf(rank);
        int at = group.indexOf(rank);
        return IntStream.range(0, copies)
                .mapToObj(i -> group.get((at + i) % group.size()))
                .toList();
    }

    /** The group or the ring of {@code rank}: ranks that hold the snapshots of each other only. */
    List<Integer> groupOf(int rank) {
        int at = order.indexOf(rank);
        int size = order.size();
        int grouped = size % copies == 0 ? size : (size / copies - 1) * copies;
        return at < grouped
                ? order.subList(at / copies * copies, at / copies * copies + copies)
                : order.subList(grouped, size);
    }

    /** The other ranks whose snapshots {@code rank} holds. */
    List<Integer> heldBy(int rank) {
        List<Integer> held = new ArrayList<>();
        for (int other : order) {
            if (other != rank && holders(other).contains(rank)) {
                held.add(other);
            }
        }
        return held;
    }
}
