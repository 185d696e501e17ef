package io.jrun.train.reducer;

import io.jrun.comm.Buffer;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.TensorTypes;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * Gradients of which this rank keeps the means of its parts. The gradients of the module are freed when their bucket is
 * reduced. Means of several reductions add up.
 */
final class ShardedGradientMemory implements BucketMemory {
    private final List<Parameter> parameters;
    private final List<Bucket> buckets;
    private final List<ShardRange> ranges = new ArrayList<>();
    private final List<Tensor> parts = new ArrayList<>();

    ShardedGradientMemory(List<Parameter> parameters, List<Bucket> buckets) {
        this.parameters = parameters;
        this.buckets = buckets;
        for (Bucket bucket : buckets) {
            ShardRange own = PartGradients.division(
                            members(bucket), bucket.group().size())
                    .part(bucket.group().groupRank());
            ranges.add(own);
            parts.add(zeros(members(bucket).getFirst(), own.length()));
        }
    }

    private List<Parameter> members(Bucket bucket) {
        return bucket.parameters().stream().map(parameters::get).toList();
    }

    private static Tensor zeros(Parameter first, long elements) {
        try (Tensor zeros = TensorMemory.zeros(
                TensorMemory.device(first.tensor()), TensorTypes.scalarType(first.type()), elements)) {
            return TensorMemory.own(zeros);
        }
    }

    @Override
    public List<Bucket> buckets() {
        return buckets;
    }

    /** The bucket takes its gradients when all of them are complete. */
    @Override
    public void moveIntoBucket(int parameter) {}

    @Override
    public GradientBucket take(int index, boolean isLast, int divisor) {
        List<Parameter> members = members(buckets.get(index));
        Parameter first = members.getFirst();
        Tensor whole = zeros(
                first, members.stream().mapToLong(Parameter::paddedElements).sum());
        List<Tensor> slices = new ArrayList<>();
        long at = 0;
        try (NoGradGuard _ = new NoGradGuard()) {
            for (Parameter member : members) {
                Tensor slice = whole.narrow(0, at, member.elements()).view(TensorMemory.sizes(member.tensor()));
                Tensor gradient = member.tensor().mutable_grad();
                if (gradient.defined()) {
                    TensorMemory.requireDense(member.name(), gradient);
                    slice.copy_(gradient);
                    gradient.reset();
                }
                slices.add(slice);
                at += member.paddedElements();
            }
        }
        Buffer buffer =
                new Buffer(TensorMemory.elements(whole), first.type(), whole.numel(), TensorMemory.device(whole));
        return GradientBucket.of(index, isLast, buffer, whole, members, slices, divisor);
    }

    @Override
    public void give(GradientBucket bucket) {
        ShardRange own = ranges.get(bucket.index());
        try (NoGradGuard _ = new NoGradGuard();
                Tensor means = bucket.flat().narrow(0, own.offset(), own.length())) {
            parts.get(bucket.index()).add_(means);
        }
        bucket.flat().close();
    }

    /** A bucket is reduced while the gradients of the next bucket are computed. */
    @Override
    public int mostTaken() {
        return 1;
    }

    @Override
    public Tensor part(int index) {
        return parts.get(index);
    }

    /** Also frees gradients that no reduction has taken. */
    @Override
    public void clearAll() {
        try (NoGradGuard _ = new NoGradGuard()) {
            parts.forEach(Tensor::zero_);
        }
        for (int i = 0; i < parameters.size(); i++) {
            drop(i);
        }
    }

    /** The gradient is in the parts. */
    @Override
    public void install(int parameter) {}

    @Override
    public void drop(int parameter) {
        parameters.get(parameter).tensor().mutable_grad().reset();
    }

    @Override
    public void close() {
        parts.forEach(Tensor::close);
    }
}
