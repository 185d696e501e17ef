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
public record Outcome(Optional<StopCause> cause, List<WorkerEnd> ends, int restarts, Optional<Told> told) {
    public Outcome {
        ends = List.copyOf(ends);
    }

    /** One of which it is not known when the nodes heard. */
    public Outcome(Optional<StopCause> cause, List<WorkerEnd> ends, int restarts) {
        this(cause, ends, restarts, Optional.empty());
    }

    Outcome withTold(Optional<Told> when) {
        return new Outcome(cause, ends, restarts, when);
    }

    /** The exit code of jrun. */
    public int exitCode() {
        return cause.map(StopCause::exitCode).orElse(0);
    }
}
