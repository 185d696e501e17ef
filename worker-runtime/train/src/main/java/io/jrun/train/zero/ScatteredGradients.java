package io.jrun.train.zero;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.LeafHooks;
import io.jrun.train.ddp.BucketPlan;
import io.jrun.train.optim.FlatUpdate;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorTypes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * This rank's part of each bucket of gradients. During a backward pass a bucket's gradients are copied into one piece
 * of memory as soon as they are complete, and the gradients of the module are freed. All ranks reduce the buckets in
 * the same order. A parameter without a gradient contributes zero.
 */
final class ScatteredGradients implements PartitionedGradients, AutoCloseable {
    private final ProcessGroup group;
    private final TensorCollectives collectives;
    private final List<BucketPartition> partitions;
    private final List<Tensor> parts = new ArrayList<>();
    private final List<Tensor> leaves = new ArrayList<>();
    private final List<Integer> bucketOf = new ArrayList<>();
    private final LeafHooks hooks;
    private int[] missing = {};
    private int launched;
    private final List<Running> running = new ArrayList<>();
    private @Nullable RuntimeException failure;
    private long waitedNanos;
    private long reducedBytes;

    private record Running(Work work, Tensor whole, Tensor means) {}

    ScatteredGradients(Map<String, Tensor> named, ProcessGroup group, List<Long> bucketBytes) {
        this.group = group;
        this.collectives = new TensorCollectives(group);
        List<String> names = new ArrayList<>();
        List<BucketPlan.Item> items = new ArrayList<>();
        named.forEach((name, tensor) -> {
            if (tensor.requires_grad()) {
                names.add(name);
                leaves.add(tensor);
                bucketOf.add(0);
                items.add(new BucketPlan.Item(
                        TensorTypes.of(tensor)
                                .orElseThrow(() -> new IllegalArgumentException("parameter '" + name
                                        + "' has a type that ranks cannot reduce. Convert the module with to(...).")),
                        tensor.nbytes()));
            }
        });
        List<List<Integer>> plan = BucketPlan.of(items, BucketPlan.reverseRegistration(items.size()), bucketBytes)
                .buckets();
        partitions = plan.stream()
                .map(members -> new BucketPartition(
                        members.stream().map(names::get).toList(),
                        members.stream().map(leaves::get).toList(),
                        group.size()))
                .toList();
        for (int bucket = 0; bucket < plan.size(); bucket++) {
            int number = bucket;
            plan.get(bucket).forEach(member -> bucketOf.set(member, number));
            BucketPartition partition = partitions.get(bucket);
            parts.add(FlatUpdate.zeros(
                    partition.part(group.groupRank()).length(),
                    partition.parameter(0).scalar_type().intern()));
        }
        hooks = AutogradBridge.instance().watch(leaves, this::accumulated);
    }

    @Override
    public List<BucketPartition> partitions() {
        return partitions;
    }

    @Override
    public Tensor part(int bucket) {
        return parts.get(bucket);
    }

    void clear() {
        try (NoGradGuard _ = new NoGradGuard()) {
            parts.forEach(Tensor::zero_);
        }
    }

    void backward(Tensor loss) {
        if (failure != null) {
            throw failure;
        }
        try {
            missing = partitions.stream().mapToInt(BucketPartition::parameters).toArray();
            launched = 0;
            AutogradBridge.instance().backward(List.of(loss), List.of());
            while (launched < partitions.size()) {
                launchNext();
            }
            while (!running.isEmpty()) {
                finishFirst();
            }
        } catch (RuntimeException e) {
            failure = e;
            group.abort("rank " + group.worldRank(group.groupRank()) + ": the backward pass failed: " + e);
            throw e;
        }
    }

    private void accumulated(int leaf) {
        missing[bucketOf.get(leaf)]--;
        while (launched < partitions.size() && missing[launched] <= 0) {
            launchNext();
        }
    }

    private void launchNext() {
        BucketPartition partition = partitions.get(launched);
        Tensor whole = FlatUpdate.zeros(
                partition.elements(), partition.parameter(0).scalar_type().intern());
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (int i = 0; i < partition.parameters(); i++) {
                Tensor gradient = partition.parameter(i).mutable_grad();
                if (gradient.defined()) {
                    partition.view(whole, i).copy_(gradient);
                    gradient.reset();
                }
            }
            Tensor means = FlatUpdate.zeros(
                    partition.part(group.groupRank()).length(),
                    whole.scalar_type().intern());
            Work work = collectives.reduceScatterVAsync(whole, means, ReduceOp.AVG, partition.partElements());
            running.add(new Running(work, whole, means));
            reducedBytes += whole.nbytes();
        }
        launched++;
        if (running.size() > 1) {
            finishFirst();
        }
    }

    private void finishFirst() {
        int bucket = launched - running.size();
        Running first = running.removeFirst();
        long begin = System.nanoTime();
        first.work().await();
        waitedNanos += System.nanoTime() - begin;
        try (NoGradGuard _ = new NoGradGuard()) {
            parts.get(bucket).add_(first.means());
        }
        first.whole().close();
        first.means().close();
    }

    /** The time for which all backward passes have waited for reductions. */
    long waitedNanos() {
        return waitedNanos;
    }

    /** The bytes of all reduced gradients. */
    long reducedBytes() {
        return reducedBytes;
    }

    @Override
    public void close() {
        hooks.close();
        parts.forEach(Tensor::close);
    }
}
