package io.jrun.comm;

import java.time.Duration;

/**
 * The time for which one rank has waited for another rank in its collectives.
 *
 * @param rank world rank of the rank that came last
 * @param count number of collectives in which that rank came last
 * @param total sum of the waits
 */
public record RankLag(int rank, long count, Duration total, Duration median, Duration p95, Duration max) {
    /** The lag of a rank that never came last. */
    public static RankLag none(int rank) {
        return new RankLag(rank, 0, Duration.ZERO, Duration.ZERO, Duration.ZERO, Duration.ZERO);
    }
}
