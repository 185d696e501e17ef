package io.jrun.launcher.coordinator;

import io.jrun.launcher.event.JobEvent;
import java.util.List;
import java.util.Optional;

/**
 * The end of one worker.
 *
 * @param pid process id; 0 if the worker could not be started
 * @param exitCode of the program, or 128 + signal
 * @param afterStop whether the agent had stopped the worker before its end
 * @param oomKilled whether the kernel killed the worker because memory ran out
 * @param startError why the worker could not be started, else empty
 * @param error the worker's own error record
 * @param stderrTail the worker's last lines on stderr
 * @param artifacts paths of crash files and heap dumps
 * @param notJoined the state of the worker's process if the round ended before the worker had joined; else empty
 * @param logFolder the folder of the worker's files, below the job's log folder; empty if unknown
 * @param place the worker's place in the mesh of the program, as {@code pp=1 tp=0}; empty if the worker has reported
 *     none
 */
public record WorkerResult(
        int rank,
        int localRank,
        String host,
        long pid,
        int exitCode,
        boolean afterStop,
        boolean oomKilled,
        String startError,
        String notJoined,
        Optional<WorkerError> error,
        List<String> stderrTail,
        List<String> artifacts,
        String logFolder,
        double runSeconds,
        String place) {
    public WorkerResult {
        stderrTail = List.copyOf(stderrTail);
        artifacts = List.copyOf(artifacts);
    }

    /**
     * The error of a worker, as the worker or its JVM has recorded it.
     *
     * @param message the exception; empty after a crash
     * @param stack the stack of the exception; empty if there is none
     * @param groupFailure the failure of a group that has caused the exception and that names the rank for which others
     *     waited; else empty
     * @param crash the signal and the frame in which the JVM crashed; else empty
     */
    public record WorkerError(String message, String stack, String groupFailure, String crash) {
        /** Makes the error of an exception that no other rank has caused. */
        public WorkerError(String message, String stack) {
            this(message, stack, "", "");
        }
    }

    /**
     * A predicate: "exited with code 42", or "(pp=1 tp=0) exited with code 42" for a worker that has reported its
     * place.
     */
    public String how() {
        return place.isEmpty() ? end() : "(" + place + ") " + end();
    }

    private String end() {
        if (oomKilled) {
            return "was killed by the kernel for memory (OOM)";
        }
        String crash = crash();
        return crash.isEmpty() ? ExitCodeDescription.sentence(exitCode) : "crashed: " + crash;
    }

    /** The signal and the frame in which the worker's JVM crashed; empty if it did not. */
    public String crash() {
        return error.map(WorkerError::crash).orElse("");
    }

    /** The failure of a group that names the rank for which others waited; empty for another failure. */
    public String groupFailure() {
        return error.map(WorkerError::groupFailure).orElse("");
    }

    /** The end as a job event of a round. */
    JobEvent event(int round) {
        return new JobEvent.WorkerEnded(
                round,
                rank,
                localRank,
                host,
                pid,
                exitCode,
                afterStop,
                oomKilled,
                runSeconds,
                error.map(WorkerError::message).orElse(""),
                startError,
                artifacts,
                logFolder);
    }

    /** Whether the worker exited with code 0. */
    public boolean isSuccess() {
        return exitCode == 0 && startError.isEmpty();
    }
}
