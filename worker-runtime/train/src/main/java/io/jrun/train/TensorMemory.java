package io.jrun.train;

import io.jrun.comm.DataType;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Optional;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Tensors as memory segments and memory segments as tensors, without a copy. Nothing here keeps the other side alive: a
 * segment is valid as long as its tensor's storage, a tensor as long as its segment.
 */
public final class TensorMemory {
    private TensorMemory() {}

    /**
     * The elements of {@code tensor}, row-major.
     *
     * @throws IllegalArgumentException if it is not in the CPU's memory, or not contiguous: its elements are then not one run
     *     of memory
     */
    public static MemorySegment segment(Tensor tensor) {
        requireCpu(tensor);
        if (!tensor.is_contiguous()) {
            throw new IllegalArgumentException("tensor of shape " + shape(tensor) + " is not contiguous");
        }
        long bytes = tensor.nbytes();
        return bytes == 0
                ? MemorySegment.NULL
                : MemorySegment.ofAddress(tensor.data_ptr().address()).reinterpret(bytes);
    }

    /**
     * A row-major tensor over native memory.
     *
     * @param memory at least as many bytes as {@code sizes} need, aligned for {@code type}
     */
    public static Tensor tensor(MemorySegment memory, torch.ScalarType type, long... sizes) {
        try (TensorOptions options = new TensorOptions(type)) {
            return torch.from_blob(new Address(memory), sizes, options);
        }
    }

    /**
     * A counted reference to the same tensor. What containers and autograd hand out merely points into them; and a plain
     * reference made inside a PointerScope dies with it, this one does not.
     */
    public static Tensor own(Tensor borrowed) {
        Tensor owned = new Tensor(borrowed);
        owned.retainReference();
        return owned;
    }

    /**
     * The address of the first element; equal for tensors that share it.
     *
     * @throws IllegalArgumentException if the tensor is not in the CPU's memory: its address means nothing here then
     */
    public static long address(Tensor tensor) {
        requireCpu(tensor);
        return tensor.data_ptr().address();
    }

    /** Where the elements lie: {@code cpu}, {@code cuda:0}, or {@code meta} for a tensor that has none. */
    public static String device(Tensor tensor) {
        try (Device device = tensor.device();
                BytePointer name = device.str()) {
            return name.getString();
        }
    }

    private static void requireCpu(Tensor tensor) {
        if (!tensor.is_cpu()) {
            throw new IllegalArgumentException("tensor of shape " + shape(tensor) + " is on the device "
                    + device(tensor) + ", whose memory the JVM cannot read. Move it to the CPU with tensor.cpu().");
        }
    }

    /** The collective type of a tensor's elements; empty for those that no collective can reduce. */
    public static Optional<DataType> dataType(Tensor tensor) {
        return Optional.ofNullable(
                switch (tensor.scalar_type().intern()) {
                    case Float -> DataType.F32;
                    case Double -> DataType.F64;
                    case Int -> DataType.I32;
                    case Long -> DataType.I64;
                    default -> null;
                });
    }

    /** The shape as {@code [2, 3]}. */
    public static String shape(Tensor tensor) {
        return Arrays.toString(sizes(tensor));
    }

    /** The shape as an array of its own. */
    public static long[] sizes(Tensor tensor) {
        long[] sizes = new long[Math.toIntExact(tensor.dim())];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = tensor.size(i);
        }
        return sizes;
    }

    /** A pointer to memory that it does not own. */
    private static final class Address extends Pointer {
        Address(MemorySegment memory) {
            super((Pointer) null);
            address = memory.address();
            limit = memory.byteSize();
            capacity = memory.byteSize();
        }
    }
}
