package io.jrun.train.zero;

import io.jrun.train.mesh.ShardRange;
import io.jrun.train.optim.FlatUpdate;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Gradients of stage 1 of ZeRO: each rank has whole gradients, in one piece of memory for each bucket. After a
 * reduction a piece has the means where this rank updates the parameters, and this rank's own gradients elsewhere.
 */
final class LastingGradients implements BucketGradients {
    private final List<BucketPartition> partitions;
    private final List<Tensor> wholes = new ArrayList<>();
    private final List<Tensor> parts = new ArrayList<>();
    /** The gradients of the parameters of each bucket, in the memory of the bucket. */
    private final List<List<Tensor>> slices = new ArrayList<>();

    LastingGradients(List<BucketPartition> partitions, int rank) {
        this.partitions = List.copyOf(partitions);
        try (PointerScope _ = new PointerScope()) {
            for (BucketPartition partition : partitions) {
                Tensor whole = FlatUpdate.zeros(partition.elements(), partition.type());
                ShardRange own = partition.part(rank);
                wholes.add(whole);
                parts.add(TensorMemory.own(whole.narrow(0, own.offset(), own.length())));
                slices.add(slices(partition, whole));
            }
        }
        clear();
    }

    /** Tensors that are no views: {@code zero_grad()} may detach a gradient, and torch forbids the detach of a view. */
    private static List<Tensor> slices(BucketPartition partition, Tensor whole) {
        MemorySegment memory = TensorMemory.segment(whole);
        List<Tensor> slices = new ArrayList<>();
        for (int i = 0; i < partition.parameters(); i++) {
            Tensor parameter = partition.parameter(i);
            long width = parameter.element_size();
            slices.add(TensorMemory.own(TensorMemory.tensor(
                    memory.asSlice(partition.offset(i) * width, parameter.numel() * width),
                    partition.type(),
                    TensorMemory.sizes(parameter))));
        }
        return slices;
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
    public Tensor take(int bucket) {
        BucketPartition partition = partitions.get(bucket);
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (int i = 0; i < partition.parameters(); i++) {
                move(partition.parameter(i).mutable_grad(), slices.get(bucket).get(i));
            }
        }
        return wholes.get(bucket);
    }

    /** A gradient that was dropped is in other memory, or is missing. */
    private static void move(Tensor gradient, Tensor slice) {
        if (!gradient.defined()) {
            slice.zero_();
        } else if (TensorMemory.address(gradient) != TensorMemory.address(slice)) {
            slice.copy_(gradient);
        }
        gradient.put(slice);
    }

    @Override
    public void put(int bucket, Tensor whole) {}

    @Override
    public int mostTaken() {
        return Integer.MAX_VALUE;
    }

    @Override
    public void clear() {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            wholes.forEach(Tensor::zero_);
            for (int bucket = 0; bucket < partitions.size(); bucket++) {
                for (int i = 0; i < partitions.get(bucket).parameters(); i++) {
                    partitions
                            .get(bucket)
                            .parameter(i)
                            .mutable_grad()
                            .put(slices.get(bucket).get(i));
                }
            }
        }
    }

    @Override
    public void close() {
        partitions.forEach(partition -> {
            for (int i = 0; i < partition.parameters(); i++) {
                partition.parameter(i).mutable_grad().reset();
            }
        });
        slices.forEach(ofBucket -> ofBucket.forEach(Tensor::close));
        parts.forEach(Tensor::close);
        wholes.forEach(Tensor::close);
    }
}
