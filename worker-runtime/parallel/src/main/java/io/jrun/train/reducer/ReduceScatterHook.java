package io.jrun.train.reducer;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.tensor.TensorCollectives;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** Gives each rank the means of its part of each bucket. Stateless. */
final class ReduceScatterHook implements CommunicationHook {
    @Override
    public boolean keepsBuckets() {
        return true;
    }

    @Override
    public BucketReduction reduce(GradientBucket bucket, ProcessGroup group) {
        boolean isMean = bucket.divisor() == group.size();
        Tensor flat = bucket.flat();
        BucketDivision division =
                new BucketDivision(flat.numel(), BucketDivision.ALIGNMENT_BYTES / flat.element_size(), group.size());
        ShardRange own = division.part(group.groupRank());
        try (PointerScope _ = new PointerScope()) {
            Tensor means = flat.narrow(0, own.offset(), own.length());
            Work work = new TensorCollectives(group)
                    .reduceScatterVAsync(flat, means, isMean ? ReduceOp.AVG : ReduceOp.SUM, division.partElements());
            BucketReduction sums = BucketReduction.of(bucket, work);
            return isMean
                    ? sums
                    : () -> {
                        sums.finish();
                        divide(flat, own, bucket.divisor());
                    };
        }
    }

    private static void divide(Tensor flat, ShardRange own, int divisor) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            flat.narrow(0, own.offset(), own.length()).div_(new Scalar((double) divisor));
        }
    }
}
