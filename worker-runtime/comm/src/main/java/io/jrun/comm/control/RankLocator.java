package io.jrun.comm.control;

import io.jrun.comm.record.RankRecord;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/** Finds out where a rank is, whether or not its program makes progress. Thread-safe. */
@FunctionalInterface
public interface RankLocator {
    /** For worlds in which nobody can be asked. */
    RankLocator NONE =
            (_, _, _) -> CompletableFuture.failedFuture(new IOException("nobody can be asked where a rank is"));

    /**
     * Asks; does not wait. The answer takes a few milliseconds from a rank that runs and about a second from one that does
     * not; it may never come.
     *
     * @param rank world rank
     * @param group name of the group in which the rank is missed
     * @param sequence number of the collective in which it is missed
     */
    CompletableFuture<RankRecord> locate(int rank, String group, long sequence);
}
