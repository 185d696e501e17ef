package io.jrun.train.ddp.hook;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.reducer.BucketReduction;
import io.jrun.train.reducer.CommunicationHook;
import io.jrun.train.reducer.GradientBucket;
import java.util.function.Consumer;

/**
 * Updates the parameters of a bucket when the bucket holds its mean, while later buckets are reduced. Each synchronised
 * backward pass updates all parameters, so the program does not call {@code optimizer.step()}. The model must use all
 * parameters in each pass. torch's {@code _hook_then_optimizer}.
 *
 * @param inner exchanges the gradients
 * @param update updates the parameters of the bucket, from {@link GradientBucket#gradients}
 */
public record OptimizerHook(CommunicationHook inner, Consumer<GradientBucket> update) implements CommunicationHook {
    @Override
    public BucketReduction reduce(GradientBucket bucket, ProcessGroup group) {
        BucketReduction reduction = inner.reduce(bucket, group);
        return () -> {
            reduction.finish();
            update.accept(bucket);
        };
    }

    @Override
    public String name() {
        return "OptimizerHook(" + inner.name() + ")";
    }
}
