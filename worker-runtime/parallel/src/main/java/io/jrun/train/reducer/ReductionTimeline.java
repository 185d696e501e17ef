package io.jrun.train.reducer;

import java.util.List;

/**
 * The times of one step with a gradient reduction on this rank, as values of {@link System#nanoTime}. The times show
 * how much of the communication ran during the backward pass.
 *
 * @param stepNanos when the step was opened: the forward pass begins
 * @param backwardNanos when the backward pass began; with a plain {@code loss.backward()} when the first gradient was
 *     computed
 * @param buckets the reductions of the buckets in order
 * @param lastGradientNanos when the backward pass had produced its last gradient
 * @param finishedNanos when every bucket held its result
 */
public record ReductionTimeline(
        long stepNanos, long backwardNanos, List<BucketSpan> buckets, long lastGradientNanos, long finishedNanos) {
    /** The value before the first reduction. */
    static final ReductionTimeline NONE = new ReductionTimeline(0, 0, List.of(), 0, 0);

    public ReductionTimeline {
        buckets = List.copyOf(buckets);
    }

    /** The time for which the step waited for communication after its last gradient. */
    public long exposedNanos() {
        return finishedNanos - lastGradientNanos;
    }

    /** The time from the begin of the step to the begin of the backward pass. */
    public long forwardNanos() {
        return backwardNanos - stepNanos;
    }

    /** The time from the begin of the backward pass to its last gradient. */
    public long backwardComputeNanos() {
        return lastGradientNanos - backwardNanos;
    }

    /** The time from the begin of the first bucket's reduction to the end of the last bucket's reduction. */
    public long communicationNanos() {
        return buckets.isEmpty() ? 0 : finishedNanos - buckets.getFirst().launchedNanos();
    }

    /** The part of the communication time that ran before the last gradient. */
    public long overlapNanos() {
        return Math.max(0, communicationNanos() - exposedNanos());
    }
}
