package io.jrun.train.ddp;

/**
 * The reduction of one bucket, on this rank. Times are those of {@link System#nanoTime}.
 *
 * @param bytes size of the bucket
 * @param launchedNanos when the reduction was handed to the group
 * @param finishedNanos when the bucket held its result
 */
public record BucketSpan(long bytes, long launchedNanos, long finishedNanos) {
    /** Nanoseconds of this reduction that ran before {@code nanos}: with the last gradient's time, behind computation. */
    public long overlapNanos(long nanos) {
        return Math.max(0, Math.min(finishedNanos, nanos) - launchedNanos);
    }
}
