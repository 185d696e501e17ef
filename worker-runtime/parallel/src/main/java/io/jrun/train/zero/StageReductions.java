package io.jrun.train.zero;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.autograd.LeafHooks;
import io.jrun.train.tensor.TensorMemory;
import java.util.BitSet;
import java.util.Collection;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The reductions of the stages of one pipeline rank. A bucket is reduced during the last backward pass of its stage, as
 * soon as its gradients and those of the buckets before it are complete; or after the pass, if the pass delays
 * gradients. The bucket of a shared parameter is reduced when the caller says that the gradient is complete. Confined
 * to the training thread.
 */
final class StageReductions implements AutoCloseable {
    private final StageBuckets buckets;
    private final BucketGradients gradients;
    private final PartReductions reductions;
    private final ProcessGroup group;
    private final LeafHooks hooks;
    private final BitSet begun = new BitSet();
    private int[] missing;
    private boolean isLastPass;
    private @Nullable RuntimeException failure;

    StageReductions(StageBuckets buckets, BucketGradients gradients, ProcessGroup group) {
        this.buckets = buckets;
        this.gradients = gradients;
        reductions = new PartReductions(group, gradients);
        this.group = group;
        missing = BucketPartition.counts(buckets.partitions());
        hooks = BucketPartition.watch(buckets.partitions(), this::accumulated);
    }

    BucketGradients gradients() {
        return gradients;
    }

    /** Runs a backward pass. The last pass of a stage reduces the gradients. No pass follows a pass that has failed. */
    void backward(Runnable pass, boolean isLast) {
        if (failure != null) {
            throw failure;
        }
        isLastPass = isLast;
        try {
            pass.run();
        } catch (RuntimeException e) {
            failure = e;
            group.abort("rank " + group.worldRank(group.groupRank()) + ": a backward pass failed: " + e);
            throw e;
        } finally {
            isLastPass = false;
        }
    }

    private void accumulated(int bucket) {
        StageBuckets.Group ofStage = buckets.group(bucket);
        if (isLastPass && !ofStage.isShared()) {
            missing[bucket]--;
            for (int next = ofStage.first(); next < ofStage.end() && missing[next] <= 0; next++) {
                begin(next);
            }
        }
    }

    private void begin(int bucket) {
        if (!begun.get(bucket)) {
            begun.set(bucket);
            reductions.begin(bucket);
        }
    }

    /** Begins to reduce the buckets of some parameters, whose gradients are complete. */
    void begin(Collection<Tensor> complete) {
        BitSet ready = new BitSet();
        for (Tensor parameter : complete) {
            StageBuckets.Place place = buckets.places().get(TensorMemory.identity(parameter));
            if (place != null) {
                ready.set(place.bucket());
            }
        }
        ready.stream().forEach(this::begin);
    }

    /** Reduces all remaining gradients of a step, and waits. */
    void finish() {
        for (int bucket = 0; bucket < missing.length; bucket++) {
            begin(bucket);
        }
        reductions.finish();
        begun.clear();
        missing = BucketPartition.counts(buckets.partitions());
    }

    @Override
    public void close() {
        hooks.close();
        gradients.close();
    }
}
