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
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.DataPtr;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.PointerConsumer;
import org.bytedeco.pytorch.StorageImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * GPUs for tests on a machine without one: libtorch computes on the CPU, in the mapping of the device memory of the
 * simulated CUDA that this process can read. jrun gets the addresses of the device, which end the process with SIGSEGV
 * if somebody reads them. All tensors are on the device of the thread that asks, unless they lie in memory of another.
 * A process that uses it runs with {@code SIMCUDA_LATE=1} or {@code SIMCUDA_INLINE=1}: libtorch does not wait for the
 * simulated streams. Memory that a tensor frees is for the next tensor of the same size, as with libtorch's allocator,
 * and has NaN in all elements until then.
 *
 * <p>{@link #install} is for programs that move what collectives use to devices. {@link #installForRanks} is for programs
 * that know no devices: memory of libtorch moves to the device when jrun asks for its address.
 */
public final class SimulatedPlacement implements MemoryPlacement {
    private record Block(long bytes, Device device) {}

    private record Freed(Device device, long bytes) {}

    private static final String RUNTIME = "libcudart.so.13";
    private static final long BLOCK_BYTES = 4 << 20;
    private static final long ALIGNMENT_BYTES = 512;
    private static final byte NAN = -1;
    private static final LibtorchPlacement LIBTORCH = new LibtorchPlacement();

    /** Memory of this process that tensors use, by the address in the mapping that this process can read. */
    private static final Map<Long, Runnable> USED = new ConcurrentHashMap<>();

    /** One for the process: JavaCPP has few native functions for a class. */
    private static final PointerConsumer FREED = new PointerConsumer() {
        @Override
        public void call(Pointer memory) {
            Objects.requireNonNull(USED.remove(memory.address())).run();
        }
    };

    /** By the address in the mapping that this process can read. */
    private final ConcurrentSkipListMap<Long, Block> blocks = new ConcurrentSkipListMap<>();

    private final ThreadLocal<Device> current = ThreadLocal.withInitial(this::deviceOfThread);
    private volatile long distance;
    private final Map<Device, MemorySegment> free = new HashMap<>();
    /** The bytes that the tensors of a device have now, and the most since {@link #beginPeak}. */
    private static final class Usage {
        long now;
        long most;
    }

    private final Map<Device, Usage> usage = new HashMap<>();

    /** The memory that tensors have freed, by device and size. */
    private final Map<Freed, ArrayDeque<MemorySegment>> freed = new HashMap<>();

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
    public static SimulatedPlacement installForRanks() {
        SimulatedPlacement placement = new SimulatedPlacement(true);
        TensorMemory.setPlacement(placement);
        return placement;
    }

    /** The bytes of the tensors of a device. Memory of libtorch counts from when jrun has asked for its address. */
    public synchronized long usedBytes(Device device) {
        return usage(device).now;
    }

    /** The most of {@link #usedBytes} since {@link #beginPeak}. */
    public synchronized long peakBytes(Device device) {
        return usage(device).most;
    }

    public synchronized void beginPeak(Device device) {
        usage(device).most = usage(device).now;
    }

    private Usage usage(Device device) {
        return usage.computeIfAbsent(device, _ -> new Usage());
    }

    private synchronized void count(Device device, long bytes) {
        Usage ofDevice = usage(device);
        ofDevice.now += bytes;
        ofDevice.most = Math.max(ofDevice.most, ofDevice.now);
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
        MemorySegment readable = readable(place);
        if (bytes > 0) {
            readable.asSlice(0, bytes)
                    .copyFrom(MemorySegment.ofAddress(storage.data().address()).reinterpret(bytes));
        }
        try (org.bytedeco.pytorch.Device host = new org.bytedeco.pytorch.Device("cpu");
                Pointer start = TensorMemory.pointer(readable);
                DataPtr moved = new DataPtr(start, start, FREED, host)) {
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
        if (device.isCpu()) {
            return over(Arena.global().allocate(bytes, ALIGNMENT_BYTES), device, type, sizes);
        }
        try (TensorOptions options = new TensorOptions(type)) {
            return torch.from_blob(TensorMemory.pointer(readable(allocate(device, bytes))), sizes, FREED, options);
        }
    }

    @Override
    public Tensor over(MemorySegment memory, Device device, torch.ScalarType type, long... sizes) {
        if (device.isCpu() && isForRanks && memory.byteSize() > 0 && block(memory.address()) == null) {
            blocks.put(memory.address(), new Block(memory.byteSize(), Device.CPU));
        }
        return LIBTORCH.over(device.isCpu() ? memory : readable(memory), Device.CPU, type, sizes);
    }

    /** The same memory of a device in the mapping that this process can read. */
    private MemorySegment readable(MemorySegment memory) {
        return MemorySegment.ofAddress(memory.address() + distance).reinterpret(memory.byteSize());
    }

    /** Memory of a device for a tensor that frees it by {@link #FREED}: what was freed last, or a new piece of a block. */
    private synchronized MemorySegment allocate(Device device, long bytes) {
        long size = Math.ceilDiv(bytes, ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
        ArrayDeque<MemorySegment> last = freed.computeIfAbsent(new Freed(device, size), _ -> new ArrayDeque<>());
        MemorySegment piece = last.isEmpty() ? piece(device, size) : last.pop();
        count(device, size);
        USED.put(readable(piece).address(), () -> {
            readable(piece).fill(NAN);
            synchronized (this) {
                last.push(piece);
                count(device, -size);
            }
        });
        return piece;
    }

    private MemorySegment piece(Device device, long bytes) {
        MemorySegment rest = free.getOrDefault(device, MemorySegment.NULL);
        if (rest.byteSize() < bytes) {
            rest = allocateBlock(device, Math.max(BLOCK_BYTES, bytes));
        }
        free.put(device, rest.asSlice(bytes));
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
