package io.jrun.launcher.coordinator;

import io.jrun.launcher.event.JobEvent;
import java.util.List;
import java.util.Optional;

/**
 * How one worker ended.
 *
 * @param pid 0 if it could not be started
 * @param exitCode its own, or 128 + signal
 * @param afterStop it had been told to stop before it ended
 * @param oomKilled the kernel killed it because memory ran out
 * @param startError why it could not be started, else empty
 * @param error its own account
 * @param stderrTail its last lines on stderr
 * @param artifacts crash and heap dumps found
 * @param notJoined in what state it was when the round ended without it having joined; empty if it had joined
 * @param logFolder where its files are, below the job's log folder; empty if unknown
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
        double runSeconds) {
    public WorkerResult {
        stderrTail = List.copyOf(stderrTail);
        artifacts = List.copyOf(artifacts);
    }

    /** What a worker wrote about its own end. */
    public record WorkerError(String message, String stack) {}

    /** A predicate: "exited with code 42". */
    public String how() {
        return oomKilled ? "was killed by the kernel for memory (OOM)" : ExitCodeDescription.sentence(exitCode);
    }

    /** The same as an event of a round. */
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

    /** Whether it ended as a program that has done its work. */
    public boolean isSuccess() {
        return exitCode == 0 && startError.isEmpty();
    }
}
