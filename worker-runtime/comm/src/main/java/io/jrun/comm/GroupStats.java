package io.jrun.comm;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Statistics of the collectives of one group on one rank.
 *
 * @param collectives number of completed collectives
 * @param waited time this rank has waited for other ranks in collectives; waits below about one microsecond are not
 *     counted
 * @param lags the waits by the rank that came last (world ranks), largest total first. Over TCP the rank is a
 *     neighbour, which may itself have waited for another rank
 * @param lagsByOperation the lags for each method, such as {@code allReduce}
 */
public record GroupStats(
        long collectives, Duration waited, List<RankLag> lags, Map<String, List<RankLag>> lagsByOperation) {
    public GroupStats {
        lags = List.copyOf(lags);
        lagsByOperation = Map.copyOf(lagsByOperation);
    }
}
