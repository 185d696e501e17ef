package io.jrun.train.ddp;

import io.jrun.comm.Work;

/** A reduction of one bucket that has begun. Confined to the training thread. */
@FunctionalInterface
public interface BucketReduction {
    /**
     * Returns when the bucket holds its result. DDP calls this method once for each bucket, in the order of the
     * buckets, after the reductions of all buckets have begun. The method may run further collectives: all ranks run
     * these collectives in the same order.
     */
    void finish();

    /** The reduction that ends with {@code work}. */
    static BucketReduction of(Work work) {
        return new WorkReduction(work);
    }
}
