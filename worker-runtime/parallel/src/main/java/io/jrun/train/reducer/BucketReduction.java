package io.jrun.train.reducer;

import io.jrun.comm.Work;

/** A reduction of one bucket that has begun. DDP calls the method on the thread that runs the hooks. */
@FunctionalInterface
public interface BucketReduction {
    /**
     * Returns when the bucket holds its result. For a bucket on a device the method queues what remains to be done on
     * the default stream, and does not wait for the device. DDP calls this method once for each bucket, in the order of
     * the buckets, after the reductions of all buckets have begun. The method may run further collectives: all ranks
     * run these collectives in the same order.
     */
    void finish();

    /** Begins the next part of a reduction that has several parts. Later reductions have begun or follow. */
    default void proceed() {}

    /** The reduction of {@code bucket} that ends with {@code work}. */
    static BucketReduction of(GradientBucket bucket, Work work) {
        return new WorkReduction(work, bucket.buffer().device());
    }
}
