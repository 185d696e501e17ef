package io.jrun.train.zero;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.tensor.TensorCollectives;
import java.util.ArrayDeque;
import java.util.Deque;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * Reductions of buckets, after which each rank has the means of its parts. Reductions run while the next gradients are
 * computed. All ranks begin the same buckets in the same order. Confined to the training thread.
 */
final class PartReductions {
    private final ProcessGroup group;
    private final TensorCollectives collectives;
    private final BucketGradients gradients;
    private final Deque<Running> running = new ArrayDeque<>();
    private long waitedNanos;
    private long reducedBytes;

    private record Running(int bucket, Work work, Tensor whole) {}

    PartReductions(ProcessGroup group, BucketGradients gradients) {
        this.group = group;
        this.collectives = new TensorCollectives(group);
        this.gradients = gradients;
    }

    /** Begins to reduce a bucket. Waits for the first running reduction if the gradients allow no more of them. */
    void begin(int bucket) {
        BucketPartition partition = gradients.partitions().get(bucket);
        ShardRange own = partition.part(group.groupRank());
        Tensor whole = gradients.take(bucket);
        try (PointerScope _ = new PointerScope()) {
            Tensor means = whole.narrow(0, own.offset(), own.length());
            Work work = collectives.reduceScatterVAsync(whole, means, ReduceOp.AVG, partition.partElements());
            running.add(new Running(bucket, work, whole));
        }
        reducedBytes += whole.nbytes();
        if (running.size() > gradients.mostTaken()) {
            finishFirst();
        }
    }

    /** Waits for all reductions. */
    void finish() {
        while (!running.isEmpty()) {
            finishFirst();
        }
    }

    private void finishFirst() {
        Running first = running.remove();
        long begin = System.nanoTime();
        first.work().await();
        waitedNanos += System.nanoTime() - begin;
        gradients.put(first.bucket(), first.whole());
    }

    /** The time of all waits for reductions. */
    long waitedNanos() {
        return waitedNanos;
    }

    /** The bytes of all reduced gradients. */
    long reducedBytes() {
        return reducedBytes;
    }
}
