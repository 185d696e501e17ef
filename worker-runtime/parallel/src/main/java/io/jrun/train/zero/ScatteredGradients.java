package io.jrun.train.zero;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.LeafHooks;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * This rank's part of each bucket of gradients. During a backward pass a bucket's gradients are copied into one piece
 * of memory as soon as they are complete, and the gradients of the module are freed. All ranks reduce the buckets in
 * the same order. A parameter without a gradient contributes zero.
 */
final class ScatteredGradients implements AutoCloseable {
    private final ProcessGroup group;
    private final PassingGradients buckets;
    private final PartReductions reductions;
    private final LeafHooks hooks;
    private int[] missing = {};
    private int launched;
    private @Nullable RuntimeException failure;

    ScatteredGradients(Map<String, Tensor> named, ProcessGroup group, List<Long> bucketBytes) {
        this.group = group;
        buckets = new PassingGradients(BucketPartition.plan(named, bucketBytes, group.size()), group.groupRank());
        reductions = new PartReductions(group, buckets);
        hooks = BucketPartition.watch(buckets.partitions(), this::accumulated);
    }

    BucketGradients buckets() {
        return buckets;
    }

    void backward(Tensor loss) {
        if (failure != null) {
            throw failure;
        }
        try {
            missing = BucketPartition.counts(buckets.partitions());
            launched = 0;
            AutogradBridge.instance().backward(List.of(loss), List.of());
            while (launched < missing.length) {
                reductions.begin(launched++);
            }
            reductions.finish();
        } catch (RuntimeException e) {
            failure = e;
            group.abort("rank " + group.worldRank(group.groupRank()) + ": the backward pass failed: " + e);
            throw e;
        }
    }

    private void accumulated(int bucket) {
        missing[bucket]--;
        while (launched < missing.length && missing[launched] <= 0) {
            reductions.begin(launched++);
        }
    }

    /** The time for which all backward passes have waited for reductions. */
    long waitedNanos() {
        return reductions.waitedNanos();
    }

    /** The bytes of all reduced gradients. */
    long reducedBytes() {
        return reductions.reducedBytes();
    }

    @Override
    public void close() {
        hooks.close();
        buckets.close();
    }
}
