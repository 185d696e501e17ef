package io.jrun.train.tensor;

import io.jrun.comm.Device;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Tensors as memory segments and memory segments as tensors, without a copy. A segment is valid until the storage of
 * its tensor is freed. A tensor is valid until its segment is freed. Neither keeps the other alive.
 */
public final class TensorMemory {
    private TensorMemory() {}

    /**
     * The elements of {@code tensor} in row-major order, as memory that the JVM can read and write.
     *
     * @throws IllegalArgumentException if the tensor is not in host memory or not contiguous
     */
    public static MemorySegment segment(Tensor tensor) {
        if (!tensor.is_cpu()) {
            throw new IllegalArgumentException("tensor of shape " + shape(tensor) + " is on the device "
                    + device(tensor) + ", and the JVM cannot read the memory of this device. Copy the tensor to the"
                    + " CPU with tensor.cpu().");
        }
        if (!tensor.is_contiguous()) {
            throw new IllegalArgumentException("tensor of shape " + shape(tensor) + " is not contiguous");
        }
        return elements(tensor);
    }

    /** The elements of a contiguous tensor, at an address of the tensor's device. */
    static MemorySegment elements(Tensor tensor) {
        long bytes = tensor.nbytes();
        return bytes == 0
                ? MemorySegment.NULL
                : MemorySegment.ofAddress(address(tensor)).reinterpret(bytes);
    }

    /** A row-major tensor over host memory, see {@link #tensor(MemorySegment, Device, torch.ScalarType, long...)}. */
    public static Tensor tensor(MemorySegment memory, torch.ScalarType type, long... sizes) {
        return tensor(memory, Device.CPU, type, sizes);
    }

    /**
     * A row-major tensor over native memory of a device.
     *
     * @param memory memory of at least the bytes of {@code sizes}, aligned for {@code type}
     */
    public static Tensor tensor(MemorySegment memory, Device device, torch.ScalarType type, long... sizes) {
        try (TensorOptions options = options(device, type)) {
            return torch.from_blob(new Address(memory), sizes, options);
        }
    }

    /** A pointer of libtorch to native memory, which does not own the memory. */
    public static Pointer pointer(MemorySegment memory) {
        return new Address(memory);
    }

    /** libtorch's options for new tensors of a type on a device. */
    public static TensorOptions options(Device device, torch.ScalarType type) {
        TensorOptions options = new TensorOptions(type);
        if (!device.isCpu()) {
            try (org.bytedeco.pytorch.Device place = new org.bytedeco.pytorch.Device(device.toString());
                    DeviceOptional given = new DeviceOptional(place);
                    TensorOptions _ = options) {
                return options.device(given);
            }
        }
        return options;
    }

    /**
     * Copies all elements of a tensor to a tensor of the same type and shape. If both are contiguous host memory, this
     * is one copy of memory, which is faster than libtorch's copy with one thread.
     */
    public static void copy(Tensor from, Tensor to) {
        boolean isPlain = from.is_cpu() && to.is_cpu() && from.is_contiguous() && to.is_contiguous();
        if (isPlain) {
            elements(to).copyFrom(elements(from));
        } else {
            to.copy_(from);
        }
    }

    /**
     * A separate reference to the same tensor. Containers and autograd return pointers into their own memory, and a
     * reference that is made in a PointerScope ends with the scope. The result lives until the caller closes it.
     */
    public static Tensor own(Tensor borrowed) {
        Tensor owned = new Tensor(borrowed);
        owned.retainReference();
        return owned;
    }

    /** The address of the first element on the tensor's device; equal for tensors that share the element. */
    public static long address(Tensor tensor) {
        return tensor.data_ptr().address();
    }

    /** A number that is equal for two Java objects if they stand for one tensor of libtorch. */
    public static long identity(Tensor tensor) {
        return tensor.unsafeGetTensorImpl().address();
    }

    /**
     * The device of the elements: {@code cpu}, {@code cuda:0}; {@code meta:0} for a tensor without elements in memory.
     */
    public static Device device(Tensor tensor) {
        if (tensor.is_cpu()) {
            return Device.CPU;
        }
        try (org.bytedeco.pytorch.Device device = tensor.device();
                BytePointer name = device.str()) {
            String[] typeAndIndex = name.getString().split(":", 2);
            return new Device(typeAndIndex[0], Math.max(0, device.index()));
        }
    }

    /** Element type and shape as text, such as {@code Float[2, 3]}. */
    public static String form(Tensor tensor) {
        return tensor.scalar_type().intern() + shape(tensor);
    }

    /** The shape as text, such as {@code [2, 3]}. */
    public static String shape(Tensor tensor) {
        return Arrays.toString(sizes(tensor));
    }

    /** A copy of the shape. */
    public static long[] sizes(Tensor tensor) {
        long[] sizes = new long[Math.toIntExact(tensor.dim())];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = tensor.size(i);
        }
        return sizes;
    }

    /** A pointer that does not own its memory. */
    private static final class Address extends Pointer {
        Address(MemorySegment memory) {
            super((Pointer) null);
            address = memory.address();
            limit = memory.byteSize();
            capacity = memory.byteSize();
        }
    }
}
