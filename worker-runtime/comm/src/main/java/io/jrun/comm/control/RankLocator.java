package io.jrun.comm.control;

import io.jrun.comm.record.RankRecord;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/** Requests the location of a rank, independent of the progress of its program. Thread-safe. */
@FunctionalInterface
public interface RankLocator {
    /** The locator of a world without an agent or another coordinator. */
    RankLocator NONE = (_, _, _) -> CompletableFuture.failedFuture(new IOException("this world cannot locate ranks"));

    /**
     * Requests the record of a rank and does not wait. A running rank answers within a few milliseconds, the agent of a
     * stopped rank within about a second. The answer may never come.
     *
     * @param rank world rank
     * @param group name of the group that waits for the rank
     * @param sequence number of the collective in which the group waits for the rank; one answer may serve all waiting
     *     ranks
     */
    CompletableFuture<RankRecord> locate(int rank, String group, long sequence);
}
