package io.jrun.train.reducer;

import io.jrun.comm.Buffer;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.TensorTypes;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.IntPredicate;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The memory of all gradients, on the device of the parameters. The memory consists of buckets, and each bucket of one
 * slice for each parameter. A gradient in a bucket is a {@code from_blob} tensor over its slice, not a view of a bucket
 * tensor, because {@code optimizer.zero_grad()} detaches gradients and torch forbids that for views.
 *
 * <p>Host memory is the registered memory of the groups of the parameters and lives until the groups are closed.
 * libtorch allocates the memory of other devices. Addresses of the memory are compared and never read. Confined as
 * {@link GradientReducer}.
 */
class GradientMemory implements BucketMemory {
    private final List<Parameter> parameters;
    private final Device device;
    /** The bytes for each group. The tensors own the memory unless the memory is the group's. */
    private final Map<ProcessGroup, Tensor> storages = new LinkedHashMap<>();

    private final Tensor[] slices;
    private final long[] addresses;
    private final List<Tensor> flats = new ArrayList<>();
    private final List<Buffer> buffers = new ArrayList<>();
    private final List<Tensor> parts = new ArrayList<>();
    private List<Bucket> buckets = List.of();
    private final Map<Integer, Tensor> kept = new HashMap<>();

    GradientMemory(List<Parameter> parameters, List<Bucket> plan) {
        this.parameters = parameters;
        this.device = parameters.isEmpty()
                ? Device.CPU
                : TensorMemory.device(parameters.getFirst().tensor());
        Map<ProcessGroup, Long> bytes = new LinkedHashMap<>();
        parameters.forEach(parameter -> bytes.merge(parameter.group(), parameter.paddedBytes(), Long::sum));
        bytes.forEach((group, ofGroup) -> storages.put(group, allocate(group, device, ofGroup)));
        this.slices = new Tensor[parameters.size()];
        this.addresses = new long[parameters.size()];
        cut(plan);
    }

    private static Tensor allocate(ProcessGroup group, Device device, long bytes) {
        try (Tensor memory = device.isCpu()
                ? TensorMemory.tensor(
                        bytes == 0 ? MemorySegment.NULL : group.allocate(bytes), torch.ScalarType.Byte, bytes)
                : TensorMemory.zeros(device, torch.ScalarType.Byte, bytes)) {
            return TensorMemory.own(memory);
        }
    }

    @Override
    public List<Bucket> buckets() {
        return buckets;
    }

    /** The bytes for each group, on the device of the gradients. */
    List<MemorySegment> all() {
        return storages.values().stream().map(TensorMemory::elements).toList();
    }

    @Override
    public GradientBucket take(int index, boolean isLast, int divisor) {
        List<Integer> members = buckets.get(index).parameters();
        return GradientBucket.of(
                index,
                isLast,
                buffers.get(index),
                flats.get(index),
                members.stream().map(parameters::get).toList(),
                members.stream().map(parameter -> slices[parameter]).toList(),
                divisor);
    }

    @Override
    public void give(GradientBucket bucket) {}

    @Override
    public int mostTaken() {
        return Integer.MAX_VALUE;
    }

    @Override
    public Tensor part(int index) {
        return parts.get(index);
    }

    @Override
    public void clearAll() {
        zero();
        for (int i = 0; i < slices.length; i++) {
            install(i);
        }
    }

    /** Writes zeros into all slices. */
    final void zero() {
        try (NoGradGuard _ = new NoGradGuard()) {
            storages.values().forEach(Tensor::zero_);
        }
    }

    /** Whether this parameter has a gradient, in its slice or in other memory. */
    boolean hasGradient(int parameter) {
        return parameters.get(parameter).tensor().mutable_grad().defined();
    }

    /**
     * Moves the parameter's gradient into its slice. After {@code zero_grad()} has dropped a gradient, the autograd
     * engine makes a new gradient outside the bucket. This method copies the values of such a gradient and replaces it.
     */
    @Override
    public void moveIntoBucket(int parameter) {
        Tensor gradient = parameters.get(parameter).tensor().mutable_grad();
        if (!gradient.defined()) {
            clear(parameter);
            return;
        }
        TensorMemory.requireDense(parameters.get(parameter).name(), gradient);
        if (TensorMemory.address(gradient) != addresses[parameter]) {
            try (NoGradGuard _ = new NoGradGuard()) {
                slices[parameter].copy_(gradient);
            }
            gradient.put(slices[parameter]);
        }
    }

    /** Copies a gradient of an earlier pass: the mean of equal numbers may differ from the numbers in the last bit. */
    void keep(int parameter) {
        Tensor gradient = parameters.get(parameter).tensor().mutable_grad();
        if (gradient.defined()) {
            try (NoGradGuard _ = new NoGradGuard();
                    Tensor copy = gradient.clone()) {
                kept.put(parameter, TensorMemory.own(copy));
            }
        }
    }

    /** Writes the copies back for the parameters that no rank has used, and frees all copies. */
    void restoreKept(IntPredicate isUsed) {
        try (NoGradGuard _ = new NoGradGuard()) {
            kept.forEach((parameter, values) -> {
                if (!isUsed.test(parameter)) {
                    slices[parameter].copy_(values);
                }
                values.close();
            });
        }
        kept.clear();
    }

    /** The values of the slice do not change. */
    @Override
    public void install(int parameter) {
        parameters.get(parameter).tensor().mutable_grad().put(slices[parameter]);
    }

    @Override
    public void drop(int parameter) {
        parameters.get(parameter).tensor().mutable_grad().reset();
    }

    /** Multiplies one slice. */
    void scale(int parameter, double factor) {
        try (NoGradGuard _ = new NoGradGuard();
                Scalar number = new Scalar(factor)) {
            slices[parameter].mul_(number);
        }
    }

    /** Writes zeros into one slice. */
    final void clear(int parameter) {
        try (NoGradGuard _ = new NoGradGuard()) {
            slices[parameter].zero_();
        }
    }

    /** Divides the memory by a new plan. Gradients in the buckets move with their values. */
    void recut(List<Bucket> plan) {
        try (NoGradGuard _ = new NoGradGuard()) {
            Map<Integer, Tensor> saved = new HashMap<>();
            for (int i = 0; i < slices.length; i++) {
                if (isHome(i)) {
                    saved.put(i, slices[i].clone());
                }
                slices[i].releaseReference();
            }
            releaseBuckets();
            zero();
            cut(plan);
            saved.forEach((parameter, values) -> {
                slices[parameter].copy_(values);
                install(parameter);
                values.close();
            });
        }
    }

    /** Copies the gradients into memory of their own. The copies outlive the registered memory. */
    @Override
    public void close() {
        try (NoGradGuard _ = new NoGradGuard()) {
            for (int i = 0; i < slices.length; i++) {
                if (isHome(i)) {
                    try (Tensor copy = slices[i].clone()) {
                        parameters.get(i).tensor().mutable_grad().put(copy);
                    }
                }
                slices[i].releaseReference();
            }
        }
        releaseBuckets();
        storages.values().forEach(Tensor::releaseReference);
    }

    private void releaseBuckets() {
        parts.forEach(Tensor::releaseReference);
        flats.forEach(Tensor::releaseReference);
        parts.clear();
        flats.clear();
        buffers.clear();
    }

    /** Whether the slice of this parameter is its gradient. */
    final boolean isHome(int parameter) {
        Tensor gradient = parameters.get(parameter).tensor().mutable_grad();
        return gradient.defined() && TensorMemory.address(gradient) == addresses[parameter];
    }

    private void cut(List<Bucket> plan) {
        Map<ProcessGroup, Long> ends = new HashMap<>();
        for (Bucket bucket : plan) {
            ProcessGroup group = bucket.group();
            MemorySegment memory = TensorMemory.elements(Objects.requireNonNull(storages.get(group)));
            long begin = ends.getOrDefault(group, 0L);
            long at = begin;
            for (int member : bucket.parameters()) {
                Parameter parameter = parameters.get(member);
                slices[member] = tensor(
                        memory.asSlice(at, parameter.bytes()),
                        parameter.type(),
                        TensorMemory.sizes(parameter.tensor()));
                addresses[member] = memory.address() + at;
                at += parameter.paddedBytes();
            }
            DataType type = parameters.get(bucket.parameters().getFirst()).type();
            long elements = (at - begin) / type.sizeBytes();
            MemorySegment place = memory.asSlice(begin, at - begin);
            buffers.add(new Buffer(place, type, elements, device));
            flats.add(tensor(place, type, elements));
            ends.put(group, at);
            ShardRange own = new BucketDivision(
                            elements, BucketDivision.ALIGNMENT_BYTES / type.sizeBytes(), group.size())
                    .part(group.groupRank());
            parts.add(tensor(
                    place.asSlice(own.offset() * type.sizeBytes(), own.length() * type.sizeBytes()),
                    type,
                    own.length()));
        }
        buckets = List.copyOf(plan);
    }

    private Tensor tensor(MemorySegment place, DataType type, long... shape) {
        Tensor made = TensorMemory.tensor(place, device, TensorTypes.scalarType(type), shape);
        made.retainReference();
        return made;
    }
}
