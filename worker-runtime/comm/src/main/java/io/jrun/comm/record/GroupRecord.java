package io.jrun.comm.record;

import io.jrun.comm.RankLag;
import java.util.Collection;
import java.util.List;

/**
 * The progress of a rank in the collectives of one group, and the rank's waits for other ranks.
 *
 * @param name name of the group
 * @param ranks world ranks of the members, by group rank; empty in a report of waits
 * @param started number of collectives that the rank has started: the sequence of the last one, plus one
 * @param completed number of collectives that the rank has completed
 * @param waitedNanos time the rank has waited for other ranks in these collectives
 * @param lags the waits by the rank that came last, largest total first; a live record has at most {@link #MAX_LAGS} of
 *     them
 */
public record GroupRecord(
        String name, List<Integer> ranks, long started, long completed, long waitedNanos, List<RankLag> lags) {
    /**
     * The number of lags that a summary needs. The limit bounds the report of each of a thousand ranks every second.
     */
    public static final int MAX_LAGS = 8;

    /** The name of the group of all ranks. */
    private static final String WORLD = "world";

    public GroupRecord {
        ranks = List.copyOf(ranks);
        lags = List.copyOf(lags);
    }

    /**
     * Returns a group for messages: {@code group world}, or {@code group of ranks 0-3, 6}. The internal names of other
     * groups mean nothing to users.
     *
     * @param ranks world ranks of the members; empty if unknown
     */
    public static String label(String name, Collection<Integer> ranks) {
        return ranks.isEmpty() || name.equals(WORLD) ? "group " + name : "group of ranks " + RankRanges.of(ranks);
    }

    /** Returns this group for messages. */
    public String label() {
        return label(name, ranks);
    }

    /** The total of the waits without the longest wait: near zero if a wait happened only once. */
    public long repeatedWaitNanos() {
        return waitedNanos
                - lags.stream().mapToLong(lag -> lag.max().toNanos()).max().orElse(0);
    }

    /** Whether the rank has started the collective of this sequence and has not completed it. */
    public boolean isIn(long sequence) {
        return completed <= sequence && sequence < started;
    }
}
