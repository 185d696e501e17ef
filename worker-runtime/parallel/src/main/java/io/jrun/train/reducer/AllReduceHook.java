package io.jrun.train.reducer;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.train.tensor.DeviceWaits;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;

/** The mean over ranks by one all-reduce for each bucket. DDP uses this hook by default. Stateless. */
public final class AllReduceHook implements CommunicationHook {
    /**
     * Reduces all buckets except the last during the backward pass. This thread reduces the last bucket in host memory:
     * the thread has no other work, and the gradients are in the cache of its core.
     */
    @Override
    public BucketReduction reduce(GradientBucket bucket, ProcessGroup group) {
        if (!bucket.isLast() || !bucket.buffer().device().isCpu()) {
            return mean(bucket, bucket.divisor(), group);
        }
        if (bucket.divisor() == group.size()) {
            group.allReduce(bucket.buffer(), ReduceOp.AVG);
        } else {
            group.scaled(1.0 / bucket.divisor()).allReduce(bucket.buffer(), ReduceOp.SUM);
        }
        return () -> {};
    }

    /** Begins to replace the elements of a bucket by their sum over the ranks of a group, divided by {@code divisor}. */
    public static BucketReduction mean(GradientBucket bucket, int divisor, ProcessGroup group) {
        if (divisor == group.size()) {
            return BucketReduction.of(bucket, group.allReduceAsync(bucket.buffer(), ReduceOp.AVG));
        }
        if (bucket.buffer().device().isCpu()) {
            return BucketReduction.of(
                    bucket, group.scaled(1.0 / divisor).allReduceAsync(bucket.buffer(), ReduceOp.SUM));
        }
        Work sum = group.allReduceAsync(bucket.buffer(), ReduceOp.SUM);
        return () -> {
            DeviceWaits.order(sum, bucket.buffer().device());
            scale(bucket, 1.0 / divisor);
        };
    }

    private static void scale(GradientBucket bucket, double factor) {
        if (factor != 1) {
            try (NoGradGuard _ = new NoGradGuard();
                    Scalar scalar = new Scalar(factor)) {
                bucket.flat().mul_(scalar);
            }
        }
    }
}
