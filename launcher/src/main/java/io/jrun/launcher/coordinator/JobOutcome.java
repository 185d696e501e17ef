package io.jrun.launcher.coordinator;

import java.util.List;
import java.util.Optional;

/**
 * What became of a job.
 *
 * @param cause why it stopped early, empty if all workers succeeded
 * @param ends how the workers of the last round ended, in the order in which they did
 * @param restarts how often the workers were started again
 * @param told when the nodes knew of the cause
 */
public record JobOutcome(
        Optional<StopCause> cause, List<WorkerResult> ends, int restarts, Optional<FailureBroadcastLatency> told) {
    public JobOutcome {
        ends = List.copyOf(ends);
    }

    /** One of which it is not known when the nodes heard. */
    public JobOutcome(Optional<StopCause> cause, List<WorkerResult> ends, int restarts) {
        this(cause, ends, restarts, Optional.empty());
    }

    JobOutcome withTold(Optional<FailureBroadcastLatency> when) {
        return new JobOutcome(cause, ends, restarts, when);
    }

    /** The exit code of jrun. */
    public int exitCode() {
        return cause.map(StopCause::exitCode).orElse(0);
    }
}
