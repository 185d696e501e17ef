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
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * GPUs for tests on a machine without one: libtorch computes on the CPU, in the mapping of the device memory of the
 * simulated CUDA that this process can read. jrun gets the addresses of the device, which end the process with SIGSEGV
 * if somebody reads them. All tensors are on the device of the thread that asks, unless they lie in memory of another.
 * A process that uses it runs with {@code SIMCUDA_INLINE=1}: libtorch does not wait for the simulated streams.
 */
public final class SimulatedPlacement implements MemoryPlacement {
    private record Block(long bytes, Device device) {}

    private static final String RUNTIME = "libcudart.so.13";
    private static final LibtorchPlacement LIBTORCH = new LibtorchPlacement();

    /** By the address in the mapping that this process can read. */
    private final ConcurrentSkipListMap<Long, Block> blocks = new ConcurrentSkipListMap<>();

    private final ThreadLocal<Device> current = ThreadLocal.withInitial(() -> Device.cuda(0));
    private volatile long distance;

    private SimulatedPlacement() {}

    /** Puts the tensors of this process on devices from now on. */
    public static SimulatedPlacement install() {
        SimulatedPlacement placement = new SimulatedPlacement();
        TensorMemory.setPlacement(placement);
        return placement;
    }

    /** Puts tensors where libtorch puts them. */
    public static void remove() {
        TensorMemory.setPlacement(LIBTORCH);
    }

    /** Chooses the device of this thread. */
    public void use(Device device) {
        current.set(device);
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
        Map.Entry<Long, Block> block = block(LIBTORCH.address(tensor));
        return block == null ? current.get() : block.getValue().device();
    }

    @Override
    public long address(Tensor tensor) {
        long address = LIBTORCH.address(tensor);
        return block(address) == null ? address : address - distance;
    }

    @Override
    public TensorOptions options(Device device, torch.ScalarType type) {
        return new TensorOptions(type);
    }

    @Override
    public Tensor empty(Device device, torch.ScalarType type, long... sizes) {
        long width;
        try (Tensor element = torch.zeros(new long[] {1}, new TensorOptions(type))) {
            width = element.element_size();
        }
        long bytes = Math.max(1, Arrays.stream(sizes).reduce(1, (a, b) -> a * b) * width);
        return over(allocate(device, bytes), device, type, sizes);
    }

    @Override
    public Tensor over(MemorySegment memory, Device device, torch.ScalarType type, long... sizes) {
        MemorySegment readable = device.isCpu()
                ? memory
                : MemorySegment.ofAddress(memory.address() + distance).reinterpret(memory.byteSize());
        return LIBTORCH.over(readable, Device.CPU, type, sizes);
    }

    private synchronized MemorySegment allocate(Device device, long bytes) {
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

    private Map.@Nullable Entry<Long, Block> block(long address) {
        Map.Entry<Long, Block> before = blocks.floorEntry(address);
        return before != null && address < before.getKey() + before.getValue().bytes() ? before : null;
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
