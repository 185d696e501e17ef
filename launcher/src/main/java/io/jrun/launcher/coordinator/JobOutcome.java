package io.jrun.launcher.coordinator;

import io.jrun.launcher.event.JobEvent;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What became of a job.
 *
 * @param cause why it stopped early, empty if all workers succeeded
 * @param ends how the workers of the last round ended, in the order in which they did
 * @param restarts how often the workers were started again
 * @param broadcastLatency when the nodes knew of the cause
 */
public record JobOutcome(
        Optional<StopCause> cause,
        List<WorkerResult> ends,
        int restarts,
        Optional<FailureBroadcastLatency> broadcastLatency) {
    public JobOutcome {
        ends = List.copyOf(ends);
    }

    /** One of which it is not known when the nodes heard. */
    public JobOutcome(Optional<StopCause> cause, List<WorkerResult> ends, int restarts) {
        this(cause, ends, restarts, Optional.empty());
    }

    JobOutcome withBroadcastLatency(Optional<FailureBroadcastLatency> when) {
        return new JobOutcome(cause, ends, restarts, when);
    }

    /**
     * The end of the job as an event.
     *
     * @param seconds how long the job took
     * @param report what jrun says of the failure
     */
    public JobEvent event(double seconds, List<String> report) {
        return new JobEvent.JobEnded(
                exitCode(),
                restarts,
                seconds,
                cause.map(StopCause::failure),
                broadcastLatency.map(FailureBroadcastLatency::secondsByHost).orElse(Map.of()),
                report);
    }

    /** The exit code of jrun. */
    public int exitCode() {
        return cause.map(StopCause::exitCode).orElse(0);
    }
}
