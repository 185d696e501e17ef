package io.jrun.train.reducer;

import io.jrun.comm.ProcessGroup;

/**
 * Exchanges the gradients of a bucket: torch's communication hook. One object serves one
 * {@code DistributedDataParallel} on one rank, and may keep state between passes. DDP calls the hook on one thread at a
 * time: the thread of the backward pass, or libtorch's thread for the device of the parameters. Tensors that the hook
 * makes are freed when the hook returns, except those that it keeps by {@code TensorMemory.own}.
 */
@FunctionalInterface
public interface CommunicationHook {
    /**
     * Begins the exchange of a bucket, during the backward pass. DDP calls this method for all buckets of a pass, in
     * the order of their index. The order is the same on all ranks. After the exchange the bucket's memory must hold
     * the same values on all ranks: usually the sum over ranks divided by {@link GradientBucket#divisor}.
     *
     * @param group the ranks that add these gradients: all ranks of the model, or those that hold the same experts
     */
    BucketReduction reduce(GradientBucket bucket, ProcessGroup group);

    /** Whether the buckets keep their first order. Otherwise DDP makes new buckets after its first reduction. */
    default boolean keepsBuckets() {
        return false;
    }

    /** The name in reports. */
    default String name() {
        return getClass().getSimpleName();
    }
}
