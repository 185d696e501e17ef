package io.jrun.comm;

import io.jrun.comm.backend.WaitTimes;
import java.time.Duration;
import java.util.List;

/**
 * What one rank knows of a group's collectives.
 *
 * @param collectives how many it has completed
 * @param waited how long it has waited in them for others to come; waits of up to about a microsecond are not counted
 * @param lags the same by the rank that came last, the one that cost most first; world ranks. Over TCP this is a neighbour,
 *     which may itself have waited for another
 */
public record GroupStats(long collectives, Duration waited, List<WaitTimes.Lag> lags) {
    public GroupStats {
        lags = List.copyOf(lags);
    }
}
