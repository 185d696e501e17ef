package io.jrun.launcher.coordinator;

import io.jrun.launcher.event.JobEvent;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The result of a job.
 *
 * @param cause why the job stopped early; empty if all workers succeeded
 * @param ends the ends of the workers of the last round, in order of time
 * @param restarts number of restarts
 * @param broadcastLatency the times at which the nodes received the cause
 */
public record JobOutcome(
        Optional<StopCause> cause,
        List<WorkerResult> ends,
        int restarts,
        Optional<FailureBroadcastLatency> broadcastLatency) {
    public JobOutcome {
        ends = List.copyOf(ends);
    }

    /** A result without the latency of the failure broadcast. */
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
     * @param report jrun's failure report, by line
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
