package io.jrun.train.zero;

import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** Gradients of which each rank has the means of its parts. */
interface PartitionedGradients {
    /** How the ranks share the buckets. Stays as it is from the first call on. */
    List<BucketPartition> partitions();

    /** The means of this rank's part of a bucket, of one dimension. */
    Tensor part(int bucket);
}
