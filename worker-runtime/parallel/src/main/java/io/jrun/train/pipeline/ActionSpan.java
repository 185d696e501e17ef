package io.jrun.train.pipeline;

import io.jrun.train.pipeline.schedule.PipelineAction;

/**
 * When a rank has computed an action, by {@link System#nanoTime}. The time does not include the wait for the input.
 */
public record ActionSpan(PipelineAction action, long beginNanos, long endNanos) {
    /** The time of the computation. */
    public long nanos() {
        return endNanos - beginNanos;
    }
}
