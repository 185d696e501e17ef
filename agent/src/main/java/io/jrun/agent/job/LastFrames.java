package io.jrun.agent.job;

import java.util.HashMap;
import java.util.Map;

/**
 * Reports the end of a worker after the last frame of the worker. A process may be reaped before the agent has read the
 * frames that the process sent last, such as its metrics. The launcher ends the job at the report of the last end, and
 * then reads no frame. Confined to the job's thread.
 */
final class LastFrames {
    /** Longest wait for the end of a connection. The wait is long only if another process holds the connection open. */
    private static final long MOST_MILLIS = 1000;

    private final NodeRendezvous rendezvous;
    private final JobEventLoop mailbox;
    private final Map<Integer, Runnable> reports = new HashMap<>();

    LastFrames(NodeRendezvous rendezvous, JobEventLoop mailbox) {
        this.rendezvous = rendezvous;
        this.mailbox = mailbox;
    }

    /**
     * Runs {@code report} when the connection of the rank has ended: at once if the rank has none, or is parked and has
     * sent its last frame before.
     */
    void after(int rank, Runnable report) {
        if (rendezvous.connection(rank) == null || rendezvous.parking().isParked(rank)) {
            report.run();
            return;
        }
        reports.put(rank, report);
        var _ = mailbox.postIn(MOST_MILLIS, () -> ended(rank));
    }

    /** The connection of the rank has ended. */
    void ended(int rank) {
        Runnable report = reports.remove(rank);
        if (report != null) {
            report.run();
        }
    }

    /** Whether a report waits. */
    boolean isAwaited() {
        return !reports.isEmpty();
    }
}
