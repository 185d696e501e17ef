package io.jrun.launcher.record;

import io.jrun.launcher.event.JobEvent.JobStarted;
import io.jrun.launcher.event.Straggler;
import java.util.List;

/**
 * The state of one job, from its recorded events.
 *
 * @param startedMillis wall clock, milliseconds since 1970
 * @param endedMillis wall clock, milliseconds since 1970; 0 before the end
 * @param exitCode of jrun, -1 before the end
 * @param workers of the last round, by rank; empty before the first round
 * @param stragglers ranks for which others have waited, until now or in the whole job
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

    /** The state of a job. */
    public enum RecordedState {
        /** The launcher connects to the agents. */
        STARTING,
        /** The workers have been started. */
        RUNNING,
        /** The job has ended. */
        ENDED,
        /**
         * The launcher has ended without a record of the end of the job: the launcher was killed, or its machine
         * failed. No event has this state.
         */
        LOST
    }

    /**
     * One worker of the last round.
     *
     * @param pid 0 if unknown
     * @param logFolder the folder of the worker's files, below the log folder of the job; empty if unknown
     * @param gpu the GPUs of the worker; empty without GPUs of its own
     * @param end how the worker ended; empty while the worker runs
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

    /** Whether the state is {@link RecordedState#LOST}. */
    public boolean isLost() {
        return state == RecordedState.LOST;
    }

    /** Whether no further event will come. */
    public boolean isOver() {
        return state == RecordedState.ENDED || isLost();
    }
}
