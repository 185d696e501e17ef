package io.jrun.comm.control;

import java.util.List;

/**
 * How long a rank has waited for others in the collectives of one group, as it tells now and then, and when it leaves.
 *
 * @param collectives how many it has completed
 * @param lags for whom, the rank that cost most first
 */
public record GroupWait(String group, long collectives, long waitedNanos, List<Lag> lags) {
    /** What a summary needs; a bound on what every one of a thousand ranks sends. */
    public static final int MAX_LAGS = 8;

    /** The same for programs that split their world very often. */
    public static final int MAX_GROUPS = 64;

    /**
     * One rank's part in it.
     *
     * @param rank world rank
     * @param count in how many collectives it came last
     */
    public record Lag(int rank, long count, long medianNanos, long p95Nanos, long maxNanos) {}

    public GroupWait {
        lags = List.copyOf(lags);
    }
}
