package io.jrun.train.ddp;

import io.jrun.comm.Buffer;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;

/** The mean over ranks by one all-reduce for each bucket. DDP uses this hook by default. Stateless. */
public final class AllReduceHook implements CommunicationHook {
    /**
     * Reduces all buckets except the last during the backward pass. This thread reduces the last bucket: the thread has
     * no other work, and the gradients are in the cache of its core.
     */
    @Override
    public BucketReduction reduce(GradientBucket bucket, ProcessGroup group) {
        if (!bucket.isLast()) {
            return BucketReduction.of(meanAsync(bucket.buffer(), bucket.divisor(), group));
        }
        if (bucket.divisor() == group.size()) {
            group.allReduce(bucket.buffer(), ReduceOp.AVG);
        } else {
            group.scaled(1.0 / bucket.divisor()).allReduce(bucket.buffer(), ReduceOp.SUM);
        }
        return () -> {};
    }

    /** Begins to replace the elements by their sum over all ranks, divided by {@code divisor}. */
    public static Work meanAsync(Buffer buffer, int divisor, ProcessGroup group) {
        return divisor == group.size()
                ? group.allReduceAsync(buffer, ReduceOp.AVG)
                : group.scaled(1.0 / divisor).allReduceAsync(buffer, ReduceOp.SUM);
    }
}
