package io.jrun.train.tensor;

import io.jrun.comm.Device;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Tensors as memory segments and memory segments as tensors, without a copy. A segment is valid until the storage of
 * its tensor is freed. A tensor is valid until its segment is freed. Neither keeps the other alive.
 */
public final class TensorMemory {
    private static volatile MemoryPlacement placement = new LibtorchPlacement();

    private TensorMemory() {}

    /** Replaces libtorch's placement, for tests of devices on a machine without these devices. */
    static void setPlacement(MemoryPlacement other) {
        placement = other;
    }

    /**
     * The elements of {@code tensor} in row-major order, as memory that the JVM can read and write.
     *
     * @throws IllegalArgumentException if the tensor is not in host memory or not contiguous
     */
    public static MemorySegment segment(Tensor tensor) {
        if (!device(tensor).isCpu()) {
            throw new IllegalArgumentException("tensor of shape " + shape(tensor) + " is on the device "
                    + device(tensor) + ", and the JVM cannot read the memory of this device. Copy the tensor to the"
                    + " CPU with tensor.cpu().");
        }
        if (!tensor.is_contiguous()) {
            throw new IllegalArgumentException("tensor of shape " + shape(tensor) + " is not contiguous");
        }
        return elements(tensor);
    }

    /**
     * The elements of a contiguous tensor, at an address of the tensor's device. The JVM can read the memory only if
     * the device is the CPU: see {@link #segment}.
     */
    public static MemorySegment elements(Tensor tensor) {
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
        return placement.over(memory, device, type, sizes);
    }

    /**
     * A new tensor of a device with undefined elements. Memory for collectives is allocated here or by
     * {@link io.jrun.comm.ProcessGroup#allocate}.
     */
    public static Tensor empty(Device device, torch.ScalarType type, long... sizes) {
        return placement.empty(device, type, sizes);
    }

    /** The elements in host memory, for {@link DeviceWaits}, which counts the wait. */
    static Tensor onHost(Tensor tensor) {
        return placement.onHost(tensor);
    }

    /** The device on which libtorch computes with the tensors of a device: another one only on simulated devices. */
    public static Device computing(Device device) {
        return placement.computing(device);
    }

    /** A copy of a tensor of the host on another device, for {@link DeviceTensors}. */
    static Tensor onDevice(Tensor onHost, Device device) {
        return placement.onDevice(onHost, device);
    }

    /** Like {@link #empty}, with elements of zero. */
    public static Tensor zeros(Device device, torch.ScalarType type, long... sizes) {
        Tensor zeros = empty(device, type, sizes);
        zeros.zero_();
        return zeros;
    }

    /** A pointer of libtorch to native memory, which does not own the memory. */
    public static Pointer pointer(MemorySegment memory) {
        return new Address(memory);
    }

    /** libtorch's options for new tensors of a type on a device. */
    public static TensorOptions options(Device device, torch.ScalarType type) {
        return placement.options(device, type);
    }

    /**
     * Copies all elements of a tensor to a tensor of the same type and shape. If both are contiguous host memory, this
     * is one copy of memory, which is faster than libtorch's copy with one thread.
     */
    public static void copy(Tensor from, Tensor to) {
        boolean isPlain = from.is_contiguous()
                && to.is_contiguous()
                && device(from).isCpu()
                && device(to).isCpu();
        if (isPlain) {
            elements(to).copyFrom(elements(from));
        } else {
            to.copy_(from);
        }
    }

    /**
     * Tells libtorch that the program has written into the memory of a tensor: the tensor's {@code _version()} rises, as
     * by an operation in place. Does not touch the elements.
     */
    public static void noteWrite(Tensor tensor) {
        tensor.unsafeGetTensorImpl().bump_version();
    }

    /**
     * Copies bytes of a device to other bytes of this device. A copy on another device than the CPU is queued on the
     * default stream.
     */
    public static void copy(MemorySegment from, MemorySegment to, Device device) {
        if (device.isCpu()) {
            to.copyFrom(from);
            return;
        }
        try (NoGradGuard _ = new NoGradGuard();
                Tensor source = tensor(from, device, torch.ScalarType.Byte, from.byteSize());
                Tensor target = tensor(to, device, torch.ScalarType.Byte, from.byteSize())) {
            target.copy_(source);
        }
    }

    /**
     * Copies pieces of memory of a device to other pieces of the same sizes, which do not overlap. On another device than
     * the CPU few kernels copy all pieces, queued on the default stream; {@link #copy(MemorySegment, MemorySegment,
     * Device)} needs one for each piece.
     *
     * @param type of the elements
     */
    public static void copyAll(List<MemorySegment> from, List<MemorySegment> to, torch.ScalarType type, Device device) {
        if (from.isEmpty()) {
            return; // the kernel refuses empty lists
        }
        if (device.isCpu()) {
            for (int i = 0; i < from.size(); i++) {
                to.get(i).copyFrom(from.get(i));
            }
            return;
        }
        try (PointerScope _ = new PointerScope()) {
            PieceCopies.OPERATOR.call(
                    AtenOperator.list(flat(to, type, device)),
                    AtenOperator.list(flat(from, type, device)),
                    AtenOperator.flag(false));
        }
    }

    private static List<Tensor> flat(List<MemorySegment> pieces, torch.ScalarType type, Device device) {
        long elementBytes = torch.elementSize(type);
        return pieces.stream()
                .map(piece -> tensor(piece, device, type, piece.byteSize() / elementBytes))
                .toList();
    }

    /** Found at the first use. */
    private static final class PieceCopies {
        static final AtenOperator OPERATOR = AtenOperator.of("aten::_foreach_copy_", "");
    }

    /**
     * A separate reference to the same tensor. Containers and autograd return pointers into their own memory, and a
     * reference that is made in a PointerScope ends with the scope. The result lives until the caller closes it, and no
     * longer.
     */
    public static Tensor own(Tensor borrowed) {
        return OwnedResults.note(unscoped(() -> new Tensor(borrowed)));
    }

    /** An object of the caller alone: an object that the program's scope held would live until the end of the scope. */
    private static <T extends Pointer> T unscoped(Supplier<T> made) {
        try (PointerScope _ = new PointerScope()) {
            T owned = made.get();
            owned.retainReference();
            return owned;
        }
    }

    /**
     * A separate {@code TensorOptional} of the same tensor, or of none. The memory lives until the caller closes the
     * result, as with {@link #own(Tensor)}.
     */
    public static TensorOptional own(TensorOptional borrowed) {
        return unscoped(() -> borrowed.has_value() ? new TensorOptional(borrowed.get()) : new TensorOptional());
    }

    /** A separate pair of the same tensors, such as the state of an LSTM. Lives as {@link #own(TensorOptional)}. */
    public static T_TensorTensor_T own(T_TensorTensor_T borrowed) {
        return unscoped(() -> new T_TensorTensor_T(borrowed.get0(), borrowed.get1()));
    }

    /**
     * The address of the first element on the tensor's device; equal for tensors that share the element. 0 for a tensor
     * without elements in memory.
     */
    public static long address(Tensor tensor) {
        return placement.address(tensor);
    }

    /**
     * Checks a gradient that ranks exchange.
     *
     * @throws IllegalArgumentException if the gradient is sparse; the message names the parameter
     */
    public static void requireDense(String parameter, Tensor gradient) {
        if (gradient.layout().intern() != torch.Layout.Strided) {
            throw new IllegalArgumentException("the gradient of parameter '" + parameter + "' is sparse. Ranks exchange"
                    + " dense gradients only. Make the embedding without sparse(true).");
        }
    }

    /** A number that is equal for two Java objects if they stand for one tensor of libtorch. */
    public static long identity(Tensor tensor) {
        return tensor.unsafeGetTensorImpl().address();
    }

    /**
     * The device of the elements: {@code cpu}, {@code cuda:0}; {@code meta:0} for a tensor without elements in memory.
     */
    public static Device device(Tensor tensor) {
        return placement.device(tensor);
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
