package io.jrun.launcher.record;

import io.jrun.launcher.event.JobEvent.JobStarted;
import io.jrun.launcher.event.Straggler;
import java.util.List;

/**
 * One job, as its recorded events tell it.
 *
 * @param startedMillis wall clock
 * @param endedMillis wall clock, 0 before the end
 * @param exitCode of jrun, -1 before the end
 * @param workers of the last round, by rank; empty before the first
 * @param stragglers ranks that others have waited for, until now or in all
 * @param report jrun's report on the failure of the job, by line
 * @param droppedMetrics number of metric reports that the workers have dropped
 */
public record JobRecord(
        JobStarted job,
        RecordedState state,
        long startedMillis,
        long endedMillis,
        int exitCode,
        int restarts,
        List<RecordedWorker> workers,
        List<Straggler> stragglers,
        List<String> report,
        long droppedMetrics) {
    public JobRecord {
        workers = List.copyOf(workers);
        stragglers = List.copyOf(stragglers);
        report = List.copyOf(report);
    }

    JobRecord lost() {
        return new JobRecord(
                job,
                RecordedState.LOST,
                startedMillis,
                endedMillis,
                exitCode,
                restarts,
                workers,
                stragglers,
                report,
                droppedMetrics);
    }

    /** Where the job stands. */
    public enum RecordedState {
        /** Its agents are being called. */
        STARTING,
        /** Its workers have been started. */
        RUNNING,
        /** It is over. */
        ENDED,
        /**
         * Its launcher is gone and has not recorded the end: it was killed, or its machine went down. No event says so.
         */
        LOST
    }

    /**
     * One worker.
     *
     * @param pid 0 until it is known
     * @param logFolder where its files are, below the job's log folder; empty until it is known
     * @param gpu its device, empty if it has none of its own
     * @param end how it ended, empty while it runs
     */
    public record RecordedWorker(
            int rank, int nodeRank, int localRank, String host, long pid, String logFolder, String gpu, String end) {
        RecordedWorker withProcess(long known, String files) {
            return new RecordedWorker(rank, nodeRank, localRank, host, known, files, gpu, end);
        }

        RecordedWorker withEnd(String how) {
            return new RecordedWorker(rank, nodeRank, localRank, host, pid, logFolder, gpu, how);
        }
    }

    /** Whether it was {@link RecordedState#LOST}. */
    public boolean isLost() {
        return state == RecordedState.LOST;
    }

    /** Whether nothing more will happen. */
    public boolean isOver() {
        return state == RecordedState.ENDED || isLost();
    }
}
