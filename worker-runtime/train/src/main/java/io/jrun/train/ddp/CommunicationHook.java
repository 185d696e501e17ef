package io.jrun.train.ddp;

import io.jrun.comm.ProcessGroup;

/**
 * How the gradients of a bucket are exchanged: torch's communication hook. One object serves one
 * {@link DistributedDataParallel} on one rank, and may keep state between passes. Confined to the training thread.
 */
@FunctionalInterface
public interface CommunicationHook {
    /**
     * Begins the exchange of a bucket, during the backward pass. DDP calls it for all buckets of a pass, in order of their
     * index, which is the same on all ranks. Afterwards the bucket's memory must hold the same values on all ranks: usually
     * the sum over ranks divided by {@link GradientBucket#divisor}.
     *
     * @param group all ranks of the model
     */
    BucketReduction reduce(GradientBucket bucket, ProcessGroup group);

    /** The name in reports. */
    default String name() {
        return getClass().getSimpleName();
    }
}
