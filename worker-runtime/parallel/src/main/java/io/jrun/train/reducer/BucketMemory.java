package io.jrun.train.reducer;

import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** The memory of the gradients of buckets. Confined as {@link GradientReducer}. */
interface BucketMemory extends AutoCloseable {
    /** The buckets in the order in which they are reduced. */
    List<Bucket> buckets();

    /** A backward pass begins, which adds to the gradients. */
    default void passBegins() {}

    /**
     * The engine has added to a gradient, perhaps in a pass of which the reducer does not know.
     *
     * @throws ReductionException if the sums are wrong without {@link #passBegins}
     */
    default void requireBegun() {}

    /** All buckets are reduced. */
    default void reductionEnds() {}

    /** The gradient of a parameter is complete. A missing gradient counts as zero. */
    void moveIntoBucket(int parameter);

    /** A bucket for its reduction. Its gradients are complete. */
    GradientBucket take(int index, boolean isLast, int divisor);

    /** The reduction of a bucket has ended. */
    void give(GradientBucket bucket);

    /** The most buckets that may be reduced while the program computes on: each may need memory of its own. */
    int mostTaken();

    /** The means of this rank's part of a bucket, of one dimension. */
    Tensor part(int index);

    /** Sets all gradients to zero, the means of earlier reductions included. */
    void clearAll();

    /** Makes the memory of the bucket the parameter's gradient. */
    void install(int parameter);

    /** Removes the parameter's gradient. */
    void drop(int parameter);

    /** Frees the memory. */
    @Override
    void close();
}
