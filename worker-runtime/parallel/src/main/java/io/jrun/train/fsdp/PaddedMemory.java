package io.jrun.train.fsdp;

import io.jrun.comm.Device;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.DataPtr;
import org.bytedeco.pytorch.StorageImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * One piece of memory of a device for several tensors of one type, which can be freed and allocated again while the
 * tensors live. Each tensor begins on a cache line. All tensors share one storage of libtorch, so a tensor that
 * autograd has saved, also a view, sees new memory as well. A tensor must not be read while the memory is free.
 */
final class PaddedMemory {
    private static final long ALIGNMENT_BYTES = 64;
    private static final String FREE = "the memory is free";

    private final long elementBytes;
    private final long[] offsets;
    private final long[] elements;
    private final long bytes;
    private final Tensor all;
    private final StorageImpl storage;
    private final UnitMemory source;
    private @Nullable Tensor taken;

    /** Free memory for tensors of these shapes. */
    PaddedMemory(List<long[]> shapes, torch.ScalarType type, UnitMemory source) {
        this.source = source;
        elementBytes = torch.elementSize(type);
        offsets = new long[shapes.size()];
        elements = new long[shapes.size()];
        long at = 0;
        for (int i = 0; i < offsets.length; i++) {
            offsets[i] = at / elementBytes;
            elements[i] = Arrays.stream(shapes.get(i)).reduce(1, (a, b) -> a * b);
            at += Math.ceilDiv(elements[i] * elementBytes, ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
        }
        bytes = at;
        try (Tensor made = TensorMemory.empty(device(), type, bytes / elementBytes)) {
            all = TensorMemory.own(made);
        }
        storage = all.unsafeGetTensorImpl().storage().unsafeGetStorageImpl();
        storage.retainReference();
        free();
    }

    long bytes() {
        return bytes;
    }

    Device device() {
        return source.device();
    }

    boolean isAllocated() {
        return taken != null;
    }

    /** Takes memory, with any values. */
    void allocate() {
        if (taken != null) {
            return;
        }
        taken = source.take(bytes);
        try (Pointer place = taken.data_ptr();
                org.bytedeco.pytorch.Device device = taken.device();
                DataPtr memory = new DataPtr(place, device)) {
            storage.set_data_ptr_noswap(memory);
        }
    }

    /** Gives the memory back. The storage keeps its device: a view that is made now is on this device. */
    void free() {
        try (org.bytedeco.pytorch.Device device = all.device();
                DataPtr nothing = new DataPtr((Pointer) null, device)) {
            storage.set_data_ptr_noswap(nothing);
        }
        if (taken != null) {
            source.give(taken);
            taken = null;
        }
    }

    /** Sets all elements, padding included, to zero. */
    void clear() {
        if (taken == null) {
            throw new IllegalStateException(FREE);
        }
        all.zero_();
    }

    /** All bytes, on the device. */
    MemorySegment segment() {
        if (taken == null) {
            throw new IllegalStateException(FREE);
        }
        return TensorMemory.elements(all);
    }

    /** All elements, padding included, as one flat tensor. */
    Tensor elements() {
        return all;
    }

    /** The bytes of some elements of one tensor. */
    MemorySegment segment(int tensor, long firstElement, long count) {
        return segment().asSlice((offsets[tensor] + firstElement) * elementBytes, count * elementBytes);
    }

    /** A tensor in this memory, in the caller's {@code PointerScope}. */
    Tensor view(int tensor, long... shape) {
        return all.narrow(0, offsets[tensor], elements[tensor]).view(shape);
    }
}
