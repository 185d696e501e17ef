package io.jrun.comm.control;

import io.jrun.comm.record.RankRecord;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/** Finds out where a rank is, whether or not its program makes progress. Thread-safe. */
@FunctionalInterface
public interface RankLocator {
    /** The locator of a world without an agent or another coordinator to ask. */
    RankLocator NONE =
            (_, _, _) -> CompletableFuture.failedFuture(new IOException("nobody can be asked where a rank is"));

    /**
     * Asks for the record of a rank and does not wait. The answer of a running rank takes a few milliseconds, of a stopped rank
     * about a second. The answer may never come.
     *
     * @param rank world rank
     * @param group name of the group that misses the rank
     * @param sequence number of the collective in which the group misses the rank; one answer may serve all who miss it there
     */
    CompletableFuture<RankRecord> locate(int rank, String group, long sequence);
}
