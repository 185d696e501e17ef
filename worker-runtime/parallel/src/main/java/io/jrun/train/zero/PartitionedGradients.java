package io.jrun.train.zero;

import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** Gradients of which each rank has the means of its parts. */
interface PartitionedGradients {
    /** The division of the buckets among the ranks. */
    List<BucketPartition> partitions();

    /** The means of this rank's part of a bucket, of one dimension. */
    Tensor part(int bucket);
}
