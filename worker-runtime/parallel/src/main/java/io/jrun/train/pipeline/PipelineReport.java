package io.jrun.train.pipeline;

import io.jrun.train.pipeline.schedule.PipelineSchedule;
import java.util.List;

/**
 * The actions of one rank in a step.
 *
 * @param pipelineRank number of the rank in its pipeline
 * @param spans the computations in their order
 * @param stepNanos from the beginning of the step to its last action
 * @param peakLive most micro-batches whose activations the rank held at one time, counted once for each of its stages
 * @param bytesSent bytes of activations and gradients that the rank has sent
 */
public record PipelineReport(
        PipelineSchedule schedule,
        int pipelineRank,
        List<ActionSpan> spans,
        long stepNanos,
        int peakLive,
        long bytesSent) {
    /** Copies the list. */
    public PipelineReport {
        spans = List.copyOf(spans);
    }

    /** Time in which the rank did not compute. */
    public long idleNanos() {
        return stepNanos - spans.stream().mapToLong(ActionSpan::nanos).sum();
    }
}
