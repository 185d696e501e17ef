package io.jrun.comm.record;

import io.jrun.comm.RankLag;
import java.util.List;

/**
 * How far a rank came in the collectives of one group, and how long the rank waited there for others.
 *
 * @param name name of the group
 * @param ranks world ranks of the members, by group rank; empty in a report of waits
 * @param started how many collectives the rank has started: the number of the last one, plus one
 * @param completed how many of them the rank has completed
 * @param waitedNanos how long the rank has waited in them for others to come
 * @param lags the waits by the rank that came last, the rank that cost most first; a live record has {@link #MAX_LAGS} of them
 */
public record GroupRecord(
        String name, List<Integer> ranks, long started, long completed, long waitedNanos, List<RankLag> lags) {
    /** What a summary needs. The limit bounds what each of a thousand ranks sends every second. */
    public static final int MAX_LAGS = 8;

    public GroupRecord {
        ranks = List.copyOf(ranks);
        lags = List.copyOf(lags);
    }

    /** The waits without the longest one: what is left of a wait that happened once is nothing. */
    public long repeatedWaitNanos() {
        return waitedNanos
                - lags.stream().mapToLong(lag -> lag.max().toNanos()).max().orElse(0);
    }

    /** Whether the rank has started that collective and has not completed it. */
    public boolean isIn(long sequence) {
        return completed <= sequence && sequence < started;
    }
}
