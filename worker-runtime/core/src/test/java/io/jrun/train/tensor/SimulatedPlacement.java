package io.jrun.train.tensor;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.jrun.comm.Device;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.DataPtr;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.StorageImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * GPUs for tests on a machine without one: libtorch computes on the CPU, in the mapping of the device memory of the
 * simulated CUDA that this process can read. jrun gets the addresses of the device, which end the process with SIGSEGV
 * if somebody reads them. All tensors are on the device of the thread that asks, unless they lie in memory of another.
 * A process that uses it runs with {@code SIMCUDA_INLINE=1}: libtorch does not wait for the simulated streams.
 *
 * <p>{@link #install} is for programs that move what collectives use to devices. {@link #installForRanks} is for programs
 * that know no devices: memory of libtorch moves to the device when jrun asks for its address.
 */
public final class SimulatedPlacement implements MemoryPlacement {
    private record Block(long bytes, Device device) {}

    private static final String RUNTIME = "libcudart.so.13";
    private static final long BLOCK_BYTES = 4 << 20;
    private static final long ALIGNMENT_BYTES = 512;
    private static final LibtorchPlacement LIBTORCH = new LibtorchPlacement();

    /** By the address in the mapping that this process can read. */
    private final ConcurrentSkipListMap<Long, Block> blocks = new ConcurrentSkipListMap<>();

    private final ThreadLocal<Device> current = ThreadLocal.withInitial(this::deviceOfThread);
    private volatile long distance;
    private final Map<Device, MemorySegment> free = new HashMap<>();

    private final boolean isForRanks;

    private SimulatedPlacement(boolean isForRanks) {
        this.isForRanks = isForRanks;
    }

    /** Puts the tensors of this process on devices from now on. */
    public static SimulatedPlacement install() {
        SimulatedPlacement placement = new SimulatedPlacement(false);
        TensorMemory.setPlacement(placement);
        return placement;
    }

    /** Puts the tensors of rank N of a {@code LocalWorld} on device N, and those of other threads on the CPU. */
    public static void installForRanks() {
        TensorMemory.setPlacement(new SimulatedPlacement(true));
    }

    /** Puts tensors where libtorch puts them. */
    public static void remove() {
        TensorMemory.setPlacement(LIBTORCH);
    }

    /** Chooses the device of this thread. */
    public void use(Device device) {
        current.set(device);
    }

    private Device deviceOfThread() {
        String name = Thread.currentThread().getName();
        if (!isForRanks) {
            return Device.cuda(0);
        }
        return name.matches("rank-\\d+") ? Device.cuda(Integer.parseInt(name.substring(5))) : Device.CPU;
    }

    /** Moves a parameter to the device of this thread. */
    public void move(Tensor parameter) {
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor moved = empty(current.get(), parameter.scalar_type().intern(), TensorMemory.sizes(parameter));
            moved.copy_(parameter);
            parameter.set_data(moved);
        }
    }

    @Override
    public Device device(Tensor tensor) {
        Pointer place;
        try {
            place = tensor.data_ptr();
        } catch (RuntimeException _) { // an UnreadableTensor
            return current.get();
        }
        Block block = place == null ? null : block(place.address());
        return block == null ? current.get() : block.device();
    }

    @Override
    public long address(Tensor tensor) {
        long address = LIBTORCH.address(tensor);
        Block block = block(address);
        if (block == null && isForRanks && !current.get().isCpu()) {
            moveStorage(tensor);
            return LIBTORCH.address(tensor) - distance;
        }
        return block == null || block.device().isCpu() ? address : address - distance;
    }

    private void moveStorage(Tensor tensor) {
        StorageImpl storage = tensor.unsafeGetTensorImpl().storage().unsafeGetStorageImpl();
        long bytes = storage.nbytes();
        MemorySegment place = allocate(current.get(), Math.max(1, bytes));
        MemorySegment readable =
                MemorySegment.ofAddress(place.address() + distance).reinterpret(bytes);
        if (bytes > 0) {
            readable.copyFrom(MemorySegment.ofAddress(storage.data().address()).reinterpret(bytes));
        }
        try (org.bytedeco.pytorch.Device host = new org.bytedeco.pytorch.Device("cpu");
                DataPtr moved = new DataPtr(TensorMemory.pointer(readable), host)) {
            storage.set_data_ptr_noswap(moved);
        }
    }

    /** A copy whose memory is on the host also for a thread with a device. */
    @Override
    public Tensor onHost(Tensor tensor) {
        if (device(tensor).isCpu()) {
            return LIBTORCH.onHost(tensor);
        }
        Tensor onHost = empty(Device.CPU, tensor.scalar_type().intern(), TensorMemory.sizes(tensor));
        try (NoGradGuard _ = new NoGradGuard()) {
            onHost.copy_(tensor);
        }
        return onHost;
    }

    @Override
    public Device computing(Device device) {
        return Device.CPU;
    }

    @Override
    public TensorOptions options(Device device, torch.ScalarType type) {
        return new TensorOptions(type);
    }

    @Override
    public Tensor onDevice(Tensor onHost, Device device) {
        Tensor moved = empty(device, onHost.scalar_type().intern(), TensorMemory.sizes(onHost));
        moved.copy_(onHost);
        return moved;
    }

    @Override
    public Tensor empty(Device device, torch.ScalarType type, long... sizes) {
        long width;
        try (Tensor element = torch.zeros(new long[] {1}, new TensorOptions(type))) {
            width = element.element_size();
        }
        long bytes = Math.max(1, Arrays.stream(sizes).reduce(1, (a, b) -> a * b) * width);
        return over(
                device.isCpu() ? Arena.global().allocate(bytes, ALIGNMENT_BYTES) : allocate(device, bytes),
                device,
                type,
                sizes);
    }

    @Override
    public Tensor over(MemorySegment memory, Device device, torch.ScalarType type, long... sizes) {
        if (device.isCpu() && isForRanks && memory.byteSize() > 0 && block(memory.address()) == null) {
            blocks.put(memory.address(), new Block(memory.byteSize(), Device.CPU));
        }
        MemorySegment readable = device.isCpu()
                ? memory
                : MemorySegment.ofAddress(memory.address() + distance).reinterpret(memory.byteSize());
        return LIBTORCH.over(readable, Device.CPU, type, sizes);
    }

    /** A piece of a block of the device. Pieces are never freed. */
    private synchronized MemorySegment allocate(Device device, long bytes) {
        MemorySegment rest = free.getOrDefault(device, MemorySegment.NULL);
        if (rest.byteSize() < bytes) {
            rest = allocateBlock(device, Math.max(BLOCK_BYTES, bytes));
        }
        long taken = Math.min(rest.byteSize(), Math.ceilDiv(bytes, ALIGNMENT_BYTES) * ALIGNMENT_BYTES);
        free.put(device, rest.asSlice(taken));
        return rest.asSlice(0, bytes);
    }

    private MemorySegment allocateBlock(Device device, long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            call("cudaSetDevice", JAVA_INT).invokeWithArguments(device.index());
            MemorySegment place = arena.allocate(ADDRESS);
            if ((int) call("cudaMalloc", ADDRESS, JAVA_LONG).invokeWithArguments(place, bytes) != 0) {
                throw new AssertionError("the simulated device has no memory left");
            }
            long address = place.get(ADDRESS, 0).address();
            MemorySegment readable = (MemorySegment) Linker.nativeLinker()
                    .downcallHandle(find("simcuda_host"), FunctionDescriptor.of(ADDRESS, JAVA_LONG, JAVA_LONG))
                    .invokeWithArguments(address, bytes);
            distance = readable.address() - address;
            blocks.put(readable.address(), new Block(bytes, device));
            return MemorySegment.ofAddress(address).reinterpret(bytes);
        } catch (Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private @Nullable Block block(long address) {
        Map.Entry<Long, Block> before = blocks.floorEntry(address);
        return before != null && address < before.getKey() + before.getValue().bytes() ? before.getValue() : null;
    }

    private static java.lang.invoke.MethodHandle call(String function, MemoryLayout... types) {
        return Linker.nativeLinker().downcallHandle(find(function), FunctionDescriptor.of(JAVA_INT, types));
    }

    private static MemorySegment find(String function) {
        return SymbolLookup.libraryLookup(RUNTIME, Arena.global())
                .find(function)
                .orElseThrow(() -> new AssertionError("these are not the simulated libraries: no " + function));
    }
}
