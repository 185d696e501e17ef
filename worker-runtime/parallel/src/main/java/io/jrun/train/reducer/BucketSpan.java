package io.jrun.train.reducer;

/**
 * The reduction of one bucket, on this rank. Times are values of {@link System#nanoTime}.
 *
 * @param bytes size of the bucket
 * @param launchedNanos when the reduction was handed to the group
 * @param finishedNanos when the bucket held its result
 */
public record BucketSpan(long bytes, long launchedNanos, long finishedNanos) {
    /**
     * The nanoseconds of this reduction before the time {@code nanos}. With the time of the last gradient the result is
     * the overlap with computation.
     */
    public long overlapNanos(long nanos) {
        return Math.max(0, Math.min(finishedNanos, nanos) - launchedNanos);
    }
}
