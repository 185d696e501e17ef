package io.jrun.train.zero;

import io.jrun.train.mesh.ShardRange;
import io.jrun.train.optim.FlatUpdate;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Gradients of stage 2 of ZeRO: this rank keeps the means of its parts. The gradients of the module are freed when
 * their bucket is reduced. Means of several reductions add up.
 */
final class PassingGradients implements BucketGradients {
    private final List<BucketPartition> partitions;
    private final int rank;
    private final List<Tensor> parts = new ArrayList<>();

    PassingGradients(List<BucketPartition> partitions, int rank) {
        this.partitions = List.copyOf(partitions);
        this.rank = rank;
        for (BucketPartition partition : partitions) {
            parts.add(FlatUpdate.zeros(partition.part(rank).length(), partition.type()));
        }
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
        Tensor whole = FlatUpdate.zeros(partition.elements(), partition.type());
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            for (int i = 0; i < partition.parameters(); i++) {
                Tensor gradient = partition.parameter(i).mutable_grad();
                if (gradient.defined()) {
                    partition.view(whole, i).copy_(gradient);
                    gradient.reset();
                }
            }
        }
        return whole;
    }

    @Override
    public void put(int bucket, Tensor whole) {
        ShardRange own = partitions.get(bucket).part(rank);
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            parts.get(bucket).add_(whole.narrow(0, own.offset(), own.length()));
        }
        whole.close();
    }

    /** A bucket is reduced while the gradients of the next bucket are computed. */
    @Override
    public int mostTaken() {
        return 1;
    }

    /** Also frees gradients that no reduction has taken. */
    @Override
    public void clear() {
        try (NoGradGuard _ = new NoGradGuard()) {
            parts.forEach(Tensor::zero_);
        }
        for (BucketPartition partition : partitions) {
            for (int i = 0; i < partition.parameters(); i++) {
                partition.parameter(i).mutable_grad().reset();
            }
        }
    }

    @Override
    public void close() {
        parts.forEach(Tensor::close);
    }
}
