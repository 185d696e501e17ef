package io.jrun.train.ddp;

import java.util.List;

/**
 * When the parts of one step with a gradient reduction happened on this rank, in {@link System#nanoTime}. The times show how
 * much of the communication ran during the backward pass.
 *
 * @param stepNanos when the step was opened: the forward pass begins
 * @param backwardNanos when the backward pass began; with a plain {@code loss.backward()} when its first gradient was there
 * @param buckets in the order of their reduction
 * @param lastGradientNanos when the backward pass had produced its last gradient
 * @param finishedNanos when every bucket held its result
 */
public record ReductionTimeline(
        long stepNanos, long backwardNanos, List<BucketSpan> buckets, long lastGradientNanos, long finishedNanos) {
    /** Before the first reduction. */
    static final ReductionTimeline NONE = new ReductionTimeline(0, 0, List.of(), 0, 0);

    public ReductionTimeline {
        buckets = List.copyOf(buckets);
    }

    /** How long the step waited for communication after its last gradient. */
    public long exposedNanos() {
        return finishedNanos - lastGradientNanos;
    }

    /** From the begin of the step to the begin of the backward pass. */
    public long forwardNanos() {
        return backwardNanos - stepNanos;
    }

    /** From the begin of the backward pass to its last gradient. */
    public long backwardComputeNanos() {
        return lastGradientNanos - backwardNanos;
    }

    /** From the begin of the first bucket's reduction to the end of the last one. */
    public long communicationNanos() {
        return buckets.isEmpty() ? 0 : finishedNanos - buckets.getFirst().launchedNanos();
    }

    /** How much of the communication ran while the backward pass computed. */
    public long overlapNanos() {
        return Math.max(0, communicationNanos() - exposedNanos());
    }
}
