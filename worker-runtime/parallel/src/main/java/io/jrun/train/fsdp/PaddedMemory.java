package io.jrun.train.fsdp;

import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.DataPtr;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.StorageImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * One piece of host memory for several tensors of one type, which can be freed and allocated again while the tensors
 * live. Each tensor begins on a cache line. All tensors share one storage of libtorch, so a tensor that autograd has
 * saved, also a view, sees new memory as well. A tensor must not be read while the memory is free.
 */
final class PaddedMemory {
    private static final long ALIGNMENT_BYTES = 64;

    private final long elementBytes;
    private final long[] offsets;
    private final long[] elements;
    private final long bytes;
    private final Tensor all;
    private final StorageImpl storage;
    private final @Nullable TransferMemory source;
    private MemorySegment taken = MemorySegment.NULL;
    private boolean isAllocated;

    /** Free memory for tensors of these shapes, from libtorch's allocator. */
    PaddedMemory(List<long[]> shapes, torch.ScalarType type) {
        this(shapes, type, null);
    }

    /** Free memory for tensors of these shapes, from {@code source}; null for libtorch's allocator. */
    PaddedMemory(List<long[]> shapes, torch.ScalarType type, @Nullable TransferMemory source) {
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
        // The address is never read: a storage that knows its size and has no memory yet.
        MemorySegment nowhere = MemorySegment.ofAddress(ALIGNMENT_BYTES).reinterpret(bytes);
        try (Tensor made = TensorMemory.tensor(nowhere, type, bytes / elementBytes)) {
            all = TensorMemory.own(made);
        }
        storage = all.unsafeGetTensorImpl().storage().unsafeGetStorageImpl();
        storage.retainReference();
        free();
    }

    long bytes() {
        return bytes;
    }

    boolean isAllocated() {
        return isAllocated;
    }

    /** Takes memory, with any values. */
    void allocate() {
        if (isAllocated) {
            return;
        }
        isAllocated = true;
        if (source == null) {
            storage.set_data_ptr_noswap(torch.GetAllocator(torch.DeviceType.CPU)._allocate(bytes));
            return;
        }
        taken = source.take(bytes);
        try (Pointer place = TensorMemory.pointer(taken);
                Device host = new Device("cpu");
                DataPtr memory = new DataPtr(place, host)) {
            storage.set_data_ptr_noswap(memory);
        }
    }

    /** Gives the memory back. */
    void free() {
        if (isAllocated && source != null) {
            source.give(taken);
        }
        isAllocated = false;
        try (DataPtr nothing = new DataPtr()) {
            storage.set_data_ptr_noswap(nothing);
        }
    }

    /** Sets all elements, padding included, to zero. */
    void clear() {
        segment().fill((byte) 0);
    }

    /** All bytes. */
    MemorySegment segment() {
        if (!isAllocated) {
            throw new IllegalStateException("the memory is free");
        }
        return bytes == 0
                ? MemorySegment.NULL
                : MemorySegment.ofAddress(TensorMemory.address(all)).reinterpret(bytes);
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
