package io.jrun.train.zero;

import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.train.ddp.BucketReduction;
import io.jrun.train.ddp.CommunicationHook;
import io.jrun.train.ddp.DistributedDataParallel;
import io.jrun.train.ddp.GradientBucket;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.optim.FlatUpdate;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/** Gives each rank the means of its part of each bucket of DDP. */
final class ReduceScatterHook implements CommunicationHook, PartitionedGradients {
    private final ProcessGroup group;
    private final TensorCollectives collectives;
    private final List<BucketPartition> partitions;
    private final List<Tensor> parts = new ArrayList<>();

    ReduceScatterHook(DistributedDataParallel<? extends Module> model, ProcessGroup group) {
        this.group = group;
        this.collectives = new TensorCollectives(group);
        Map<String, Tensor> parameters = ModuleTensors.parameters(model.module());
        partitions = model.buckets().stream()
                .map(names -> new BucketPartition(
                        names, names.stream().map(parameters::get).toList(), group.size()))
                .toList();
        MemorySegment gradients = model.gradientMemory().getFirst();
        long at = 0;
        for (BucketPartition partition : partitions) {
            parts.add(ownPart(partition, gradients.asSlice(at, partition.bytes())));
            at += partition.bytes();
        }
    }

    /** This rank's part of a bucket in DDP's gradient memory. */
    private Tensor ownPart(BucketPartition partition, MemorySegment bucket) {
        Tensor first = partition.parameter(0);
        long width = first.element_size();
        ShardRange part = partition.part(group.groupRank());
        MemorySegment own = bucket.asSlice(part.offset() * width, part.length() * width);
        try (Tensor view = TensorMemory.tensor(
                own, TensorMemory.device(first), first.scalar_type().intern(), part.length())) {
            return TensorMemory.own(view);
        }
    }

    @Override
    public boolean keepsBuckets() {
        return true;
    }

    @Override
    public List<BucketPartition> partitions() {
        return partitions;
    }

    @Override
    public Tensor part(int bucket) {
        return parts.get(bucket);
    }

    @Override
    public BucketReduction reduce(GradientBucket bucket, ProcessGroup ddpGroup) {
        if (bucket.divisor() != group.size()) {
            throw new IllegalStateException(
                    "stage 1 of ZeRO needs a gradient of each rank in each step: not inside join()");
        }
        BucketPartition partition = partitions.get(bucket.index());
        Tensor own = parts.get(bucket.index());
        try (PointerScope _ = new PointerScope()) {
            Tensor means = FlatUpdate.zeros(own.numel(), own.scalar_type().intern());
            Work work = collectives.reduceScatterVAsync(bucket.flat(), means, ReduceOp.AVG, partition.partElements());
            return () -> {
                work.await();
                try (NoGradGuard _ = new NoGradGuard()) {
                    own.copy_(means);
                }
                means.close();
            };
        }
    }
}
