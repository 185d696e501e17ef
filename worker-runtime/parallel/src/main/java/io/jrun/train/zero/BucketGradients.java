package io.jrun.train.zero;

import org.bytedeco.pytorch.Tensor;

/** The memory of the gradients of buckets, which {@link PartReductions} reduces. Confined to the training thread. */
interface BucketGradients extends PartitionedGradients, AutoCloseable {
    /**
     * This rank's whole gradients of a bucket in one piece, padding included. A parameter without a gradient counts as
     * zero. The caller may write to the piece until it returns the piece.
     */
    Tensor take(int bucket);

    /** Returns a piece that has the means of this rank's part at the place of the part. */
    void put(int bucket, Tensor whole);

    /** The most pieces that may be reduced while the program computes on: each may need memory of its own. */
    int mostTaken();

    /** Sets the gradients to zero. */
    void clear();

    /** Frees the gradients. */
    @Override
    void close();
}
