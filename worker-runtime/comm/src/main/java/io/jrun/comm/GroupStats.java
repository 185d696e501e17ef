package io.jrun.comm;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * What one rank knows of a group's collectives.
 *
 * @param collectives how many it has completed
 * @param waited how long it has waited in them for others to come; waits of up to about a microsecond are not counted
 * @param lags the same by the rank that came last, the one that cost most first; world ranks. Over TCP this is a neighbour,
 *     which may itself have waited for another
 * @param lagsByOperation the same by the method that was called, as {@code allReduce}
 */
public record GroupStats(
        long collectives, Duration waited, List<RankLag> lags, Map<String, List<RankLag>> lagsByOperation) {
    public GroupStats {
        lags = List.copyOf(lags);
        lagsByOperation = Map.copyOf(lagsByOperation);
    }
}
