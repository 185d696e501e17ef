package io.jrun.train.reducer;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.tensor.TensorCollectives;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/** Gives each rank the means of its part of each bucket. Stateless. */
final class ReduceScatterHook implements CommunicationHook {
    @Override
    public boolean keepsBuckets() {
        return true;
    }

    @Override
    public BucketReduction reduce(GradientBucket bucket, ProcessGroup group) {
        if (bucket.divisor() != group.size()) {
            throw new IllegalStateException(
                    "ranks that share the states need a gradient of each rank in each step: not inside join()");
        }
        Tensor flat = bucket.flat();
        BucketDivision division =
                new BucketDivision(flat.numel(), BucketDivision.ALIGNMENT_BYTES / flat.element_size(), group.size());
        ShardRange own = division.part(group.groupRank());
        try (PointerScope _ = new PointerScope()) {
            Tensor means = flat.narrow(0, own.offset(), own.length());
            Work work = new TensorCollectives(group)
                    .reduceScatterVAsync(flat, means, ReduceOp.AVG, division.partElements());
            return BucketReduction.of(bucket, work);
        }
    }
}
