package io.jrun.train.ddp;

import java.util.List;

/**
 * When the parts of one gradient reduction happened on this rank, in {@link System#nanoTime}. The times show how much of the
 * communication ran during the backward pass.
 *
 * @param launchedNanos per bucket, when its all-reduce was handed to the group
 * @param lastGradientNanos when the backward pass had produced its last gradient
 * @param finishedNanos when every bucket held the mean
 */
public record ReductionTimeline(List<Long> launchedNanos, long lastGradientNanos, long finishedNanos) {
    /** Before the first reduction. */
    static final ReductionTimeline NONE = new ReductionTimeline(List.of(), 0, 0);

    public ReductionTimeline {
        launchedNanos = List.copyOf(launchedNanos);
    }

    /** How long the step waited for communication after its last gradient. */
    public long exposedNanos() {
        return finishedNanos - lastGradientNanos;
    }
}
