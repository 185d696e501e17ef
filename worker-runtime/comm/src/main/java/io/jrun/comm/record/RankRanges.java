package io.jrun.comm.record;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** Lists of ranks for messages. Stateless. */
public final class RankRanges {
    /** The limit of listed ranges. The ranks of a strided group of a thousand ranks do not fit in a line. */
    private static final int MAX_RANGES = 8;

    private RankRanges() {}

    /** Formats at least one rank with a noun: {@code rank 3}, or {@code 3 ranks (0-1, 5)}. */
    public static String withNoun(Collection<Integer> ranks) {
        return ranks.size() == 1 ? "rank " + ranks.iterator().next() : ranks.size() + " ranks (" + of(ranks) + ")";
    }

    /** Formats ranks in ascending order: {@code 0-3, 6}. After eight ranges, {@code and 100 more} follows. */
    public static String of(Collection<Integer> ranks) {
        List<Integer> sorted = ranks.stream().sorted().distinct().toList();
        List<String> ranges = new ArrayList<>();
        int from = 0;
        while (from < sorted.size() && ranges.size() < MAX_RANGES) {
            int to = from;
            while (to + 1 < sorted.size() && sorted.get(to + 1) == sorted.get(to) + 1) {
                to++;
            }
            ranges.add(to == from ? "" + sorted.get(from) : sorted.get(from) + "-" + sorted.get(to));
            from = to + 1;
        }
        return String.join(", ", ranges) + (from < sorted.size() ? " and " + (sorted.size() - from) + " more" : "");
    }
}
