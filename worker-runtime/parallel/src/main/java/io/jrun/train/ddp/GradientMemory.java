package io.jrun.train.ddp;

import io.jrun.comm.Buffer;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.TensorTypes;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The memory of all gradients, on the device of the parameters. The memory consists of buckets, and each bucket of one
 * slice for each parameter. A gradient in a bucket is a {@code from_blob} tensor over its slice, not a view of a bucket
 * tensor, because {@code optimizer.zero_grad()} detaches gradients and torch forbids that for views.
 *
 * <p>Host memory is the group's registered memory and lives until the group is closed. libtorch allocates the memory of
 * other devices. Addresses of the memory are compared and never read. Confined as {@link GradientReducer}.
 */
final class GradientMemory {
    /**
     * Every slice begins on a cache line. With this padding the sum of sizes does not depend on the order of slices.
     */
    private static final long ALIGNMENT_BYTES = 64;

    private final List<Parameter> parameters;
    private final Device device;
    /** All bytes. The tensor owns the memory unless the memory is the group's. */
    private final Tensor storage;

    private final MemorySegment memory;
    private final Tensor[] slices;
    private final long[] addresses;
    private List<Bucket> buckets = List.of();
    private final Map<Integer, Tensor> kept = new HashMap<>();

    GradientMemory(List<Parameter> parameters, ProcessGroup group, BucketPlan plan) {
        this.parameters = parameters;
        this.device = TensorMemory.device(parameters.getFirst().tensor());
        this.storage = allocate(
                group,
                device,
                parameters.stream().mapToLong(GradientMemory::sliceBytes).sum());
        this.memory = TensorMemory.elements(storage);
        this.slices = new Tensor[parameters.size()];
        this.addresses = new long[parameters.size()];
        cut(plan);
    }

    private static Tensor allocate(ProcessGroup group, Device device, long bytes) {
        try (Tensor memory = device.isCpu()
                ? TensorMemory.tensor(group.allocate(bytes), torch.ScalarType.Byte, bytes)
                : TensorMemory.zeros(device, torch.ScalarType.Byte, bytes)) {
            return TensorMemory.own(memory);
        }
    }

    /** The buckets in the order in which they are reduced. */
    List<Bucket> buckets() {
        return buckets;
    }

    /** All bytes, on the device of the gradients. */
    MemorySegment all() {
        return memory;
    }

    /** The form of a bucket for hooks. */
    GradientBucket view(int index, int divisor) {
        Bucket bucket = buckets.get(index);
        List<Parameter> members =
                bucket.parameters().stream().map(parameters::get).toList();
        return new GradientBucket(
                index,
                index == buckets.size() - 1,
                bucket.buffer(),
                bucket.flat(),
                members.stream().map(Parameter::name).toList(),
                members.stream().map(Parameter::tensor).toList(),
                bucket.parameters().stream().map(parameter -> slices[parameter]).toList(),
                divisor);
    }

    /** Whether this parameter has a gradient, in its slice or in other memory. */
    boolean hasGradient(int parameter) {
        return parameters.get(parameter).tensor().mutable_grad().defined();
    }

    /**
     * Moves the parameter's gradient into its slice. After {@code zero_grad()} has dropped a gradient, the autograd
     * engine makes a new gradient outside the bucket. This method copies the values of such a gradient and replaces it.
     */
    void moveIntoBucket(int parameter) {
        Tensor gradient = parameters.get(parameter).tensor().mutable_grad();
        if (!gradient.defined()) {
            clear(parameter);
        } else if (TensorMemory.address(gradient) != addresses[parameter]) {
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

    /** Makes the slice the parameter's gradient. The values of the slice do not change. */
    void install(int parameter) {
        parameters.get(parameter).tensor().mutable_grad().put(slices[parameter]);
    }

    /** Removes the parameter's gradient. */
    void drop(int parameter) {
        parameters.get(parameter).tensor().mutable_grad().reset();
    }

    /** Zeroes a slice, so that this rank contributes nothing to the mean. */
    void clear(int parameter) {
        try (NoGradGuard _ = new NoGradGuard()) {
            slices[parameter].zero_();
        }
    }

    /** Divides the memory by a new plan. Gradients in the buckets move with their values. */
    void recut(BucketPlan plan) {
        try (NoGradGuard _ = new NoGradGuard()) {
            Map<Integer, Tensor> saved = new HashMap<>();
            for (int i = 0; i < slices.length; i++) {
                if (isHome(i)) {
                    saved.put(i, slices[i].clone());
                }
                slices[i].releaseReference();
            }
            buckets.forEach(bucket -> bucket.flat().releaseReference());
            storage.zero_();
            cut(plan);
            saved.forEach((parameter, values) -> {
                slices[parameter].copy_(values);
                install(parameter);
                values.close();
            });
        }
    }

    /** Copies the gradients into memory of their own. The copies outlive the registered memory. */
    void release() {
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
        buckets.forEach(bucket -> bucket.flat().releaseReference());
        storage.releaseReference();
    }

    private boolean isHome(int parameter) {
        Tensor gradient = parameters.get(parameter).tensor().mutable_grad();
        return gradient.defined() && TensorMemory.address(gradient) == addresses[parameter];
    }

    private void cut(BucketPlan plan) {
        List<Bucket> cut = new ArrayList<>();
        long at = 0;
        for (List<Integer> members : plan.buckets()) {
            long begin = at;
            for (int member : members) {
                Parameter parameter = parameters.get(member);
                Tensor slice = TensorMemory.tensor(
                        memory.asSlice(at, parameter.bytes()),
                        device,
                        TensorTypes.scalarType(parameter.type()),
                        TensorMemory.sizes(parameter.tensor()));
                slice.retainReference();
                slices[member] = slice;
                addresses[member] = memory.address() + at;
                at += sliceBytes(parameter);
            }
            DataType type = parameters.get(members.getFirst()).type();
            long elements = (at - begin) / type.sizeBytes();
            MemorySegment slice = memory.asSlice(begin, at - begin);
            Tensor flat = TensorMemory.tensor(slice, device, TensorTypes.scalarType(type), elements);
            flat.retainReference();
            cut.add(new Bucket(members, new Buffer(slice, type, elements, device), flat));
        }
        buckets = List.copyOf(cut);
    }

    private static long sliceBytes(Parameter parameter) {
        return Math.ceilDiv(parameter.bytes(), ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
    }
}
