package io.jrun.comm.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.jrun.comm.Device;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The functions of the CUDA runtime that a group needs. A failed function throws IllegalStateException. The runtime keeps
 * the code of the last failure of a thread, also "not ready", until a program asks for the code. libtorch asks after each
 * kernel, and would take the failure for that of its kernel: this class therefore asks after each failure.
 */
public final class Cuda {
    /** The code of success. */
    public static final int SUCCESS = 0;
    /** The code of a query whose work has not ended. */
    public static final int NOT_READY = 600;
    /** The direction of a copy to device memory. */
    public static final int HOST_TO_DEVICE = 1;
    /** The direction of a copy to host memory. */
    public static final int DEVICE_TO_HOST = 2;

    /** The direction of a copy within a device. */
    public static final int DEVICE_TO_DEVICE = 3;

    /** cudaPointerAttributes. Type 0 is host memory that is not registered with CUDA. */
    public static final StructLayout POINTER_ATTRIBUTES = MemoryLayout.structLayout(
            JAVA_INT.withName("type"),
            JAVA_INT.withName("device"),
            ADDRESS.withName("devicePointer"),
            ADDRESS.withName("hostPointer"),
            MemoryLayout.sequenceLayout(8, JAVA_LONG).withName("reserved"));

    static final List<String> FILES = List.of("libcudart.so.13", "libcudart.so.12", "libcudart.so");
    private static final int NON_BLOCKING_STREAM = 1;
    private static final int WITHOUT_TIMES = 2;

    /** The legacy default stream of the device: PyTorch uses this stream if the program chooses no other stream. */
    public static final MemorySegment DEFAULT_STREAM = MemorySegment.NULL;

    /** The type of device memory in cudaPointerAttributes; 1 is pinned host memory, 3 managed memory. */
    private static final int DEVICE_MEMORY = 2;

    private static final int PORTABLE_AND_MAPPED = 1 | 2;
    private static final int BUS_ID_BYTES = 32;

    private final MethodHandle lastError;
    private final MethodHandle deviceCount;
    private final MethodHandle setDevice;
    private final MethodHandle createStream;
    private final MethodHandle destroyStream;
    private final MethodHandle queryStream;
    private final MethodHandle createEvent;
    private final MethodHandle destroyEvent;
    private final MethodHandle recordEvent;
    private final MethodHandle awaitEvent;
    private final MethodHandle queryEvent;
    private final MethodHandle memoryInfo;
    private final MethodHandle allocateDevice;
    private final MethodHandle freeDevice;
    private final MethodHandle allocatePinned;
    private final MethodHandle freePinned;
    private final MethodHandle register;
    private final MethodHandle unregister;
    private final MethodHandle copy;
    private final MethodHandle attributes;
    private final MethodHandle busId;

    private Cuda(NativeLibrary library) {
        this.lastError = library.function("cudaGetLastError");
        this.deviceCount = library.function("cudaGetDeviceCount", ADDRESS);
        this.setDevice = library.function("cudaSetDevice", JAVA_INT);
        this.createStream = library.function("cudaStreamCreateWithFlags", ADDRESS, JAVA_INT);
        this.destroyStream = library.function("cudaStreamDestroy", ADDRESS);
        this.queryStream = library.function("cudaStreamQuery", ADDRESS);
        this.createEvent = library.function("cudaEventCreateWithFlags", ADDRESS, JAVA_INT);
        this.destroyEvent = library.function("cudaEventDestroy", ADDRESS);
        this.recordEvent = library.function("cudaEventRecord", ADDRESS, ADDRESS);
        this.awaitEvent = library.function("cudaStreamWaitEvent", ADDRESS, ADDRESS, JAVA_INT);
        this.queryEvent = library.function("cudaEventQuery", ADDRESS);
        this.memoryInfo = library.function("cudaMemGetInfo", ADDRESS, ADDRESS);
        this.allocateDevice = library.function("cudaMalloc", ADDRESS, JAVA_LONG);
        this.freeDevice = library.function("cudaFree", ADDRESS);
        this.allocatePinned = library.function("cudaHostAlloc", ADDRESS, JAVA_LONG, JAVA_INT);
        this.freePinned = library.function("cudaFreeHost", ADDRESS);
        this.register = library.function("cudaHostRegister", ADDRESS, JAVA_LONG, JAVA_INT);
        this.unregister = library.function("cudaHostUnregister", ADDRESS);
        this.copy = library.function("cudaMemcpyAsync", ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS);
        this.attributes = library.function("cudaPointerGetAttributes", ADDRESS, ADDRESS);
        this.busId = library.function("cudaDeviceGetPCIBusId", ADDRESS, JAVA_INT, JAVA_INT);
    }

    /**
     * Loads the CUDA runtime.
     *
     * @throws MissingLibraryException if there is no CUDA runtime
     */
    public static Cuda open() {
        return new Cuda(NativeLibrary.open(FILES)
                .orElseThrow(() ->
                        new MissingLibraryException("the CUDA runtime is not installed (" + String.join(", ", FILES)
                                + "). 'jrun cuda install --with-libraries' brings it, or " + CudaLibraries.PATH_VARIABLE
                                + " names its folder")));
    }

    /** The number of GPUs that this process sees; 0 without a driver. */
    public int devices() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            return noted((int) deviceCount.invokeExact(count)) == SUCCESS ? count.get(JAVA_INT, 0) : 0;
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Makes {@code device} the current device of this thread. */
    public void use(int device) {
        int code;
        try {
            code = (int) setDevice.invokeExact(device);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
        if (code != SUCCESS) {
            check(code, "cudaSetDevice(" + device + ")");
        }
    }

    /** A stream that neither waits for the default stream nor lets the default stream wait. */
    public MemorySegment stream() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment place = arena.allocate(ADDRESS);
            check((int) createStream.invokeExact(place, NON_BLOCKING_STREAM), "cudaStreamCreateWithFlags");
            return place.get(ADDRESS, 0);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Destroys a stream of {@link #stream}. Work on the stream still ends. */
    public void destroyStream(MemorySegment stream) {
        try {
            int _ = noted((int) destroyStream.invokeExact(stream));
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Makes an event without times. */
    public MemorySegment event() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment place = arena.allocate(ADDRESS);
            check((int) createEvent.invokeExact(place, WITHOUT_TIMES), "cudaEventCreateWithFlags");
            return place.get(ADDRESS, 0);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Destroys an event of {@link #event}. */
    public void destroyEvent(MemorySegment event) {
        try {
            int _ = noted((int) destroyEvent.invokeExact(event));
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Makes {@code event} stand for all work that is queued on {@code stream} now. */
    public void record(MemorySegment event, MemorySegment stream) {
        try {
            check((int) recordEvent.invokeExact(event, stream), "cudaEventRecord");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Makes later work of {@code stream} run after the work before {@code event}. The caller does not wait. */
    public void await(MemorySegment stream, MemorySegment event) {
        try {
            check((int) awaitEvent.invokeExact(stream, event, 0), "cudaStreamWaitEvent");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Whether all work that the event stands for is done. */
    public boolean hasHappened(MemorySegment event) {
        try {
            return isDone((int) queryEvent.invokeExact(event), "cudaEventQuery");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Whether all work on the stream is done. */
    public boolean isDone(MemorySegment stream) {
        try {
            return isDone((int) queryStream.invokeExact(stream), "cudaStreamQuery");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    private boolean isDone(int code, String what) {
        if (noted(code) == NOT_READY) {
            return false;
        }
        check(code, what);
        return true;
    }

    /** Free bytes of the current device, over all processes. */
    public long freeBytes() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment free = arena.allocate(JAVA_LONG);
            MemorySegment total = arena.allocate(JAVA_LONG);
            check((int) memoryInfo.invokeExact(free, total), "cudaMemGetInfo");
            return free.get(JAVA_LONG, 0);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Allocates device memory of the current device. */
    public MemorySegment device(long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment place = arena.allocate(ADDRESS);
            check((int) allocateDevice.invokeExact(place, bytes), "cudaMalloc of " + bytes + " bytes");
            return place.get(ADDRESS, 0);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Frees memory of {@link #device}. May wait for all work of the device. */
    public void freeDevice(MemorySegment memory) {
        try {
            int _ = noted((int) freeDevice.invokeExact(memory));
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Allocates host memory that GPUs can reach. */
    public MemorySegment pinned(long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment place = arena.allocate(ADDRESS);
            check(
                    (int) allocatePinned.invokeExact(place, bytes, PORTABLE_AND_MAPPED),
                    "cudaHostAlloc of " + bytes + " bytes");
            return place.get(ADDRESS, 0).reinterpret(bytes);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Frees memory of {@link #pinned}. */
    public void freePinned(MemorySegment memory) {
        try {
            int _ = noted((int) freePinned.invokeExact(memory));
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /**
     * Pins host memory that the program has: GPUs then reach the memory as that of {@link #pinned}. The memory must not
     * be freed before {@link #unregister}.
     */
    public void register(MemorySegment memory) {
        try {
            check(
                    (int) register.invokeExact(memory, memory.byteSize(), PORTABLE_AND_MAPPED),
                    "cudaHostRegister of " + memory.byteSize() + " bytes");
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Ends what {@link #register} began. May wait for all work of the devices. */
    public void unregister(MemorySegment memory) {
        try {
            int _ = noted((int) unregister.invokeExact(memory));
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Queues a copy. */
    public void copy(MemorySegment to, MemorySegment from, long bytes, int direction, MemorySegment stream) {
        int code;
        try {
            code = (int) copy.invokeExact(to, from, bytes, direction, stream);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
        if (code != SUCCESS) {
            check(code, "cudaMemcpyAsync of " + bytes + " bytes");
        }
    }

    /** Whether a GPU can reach the memory at this address. */
    public boolean isReachable(MemorySegment memory) {
        return memoryType(memory) != 0;
    }

    /** Whether the address is device memory, which the host cannot reach. */
    public boolean isDevice(MemorySegment memory) {
        return memoryType(memory) == DEVICE_MEMORY;
    }

    /** Returns the device of memory; null if the memory is empty or host memory. */
    public @Nullable Device deviceOf(MemorySegment memory) {
        if (memory.byteSize() == 0 || !memory.isNative()) {
            return null;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(POINTER_ATTRIBUTES);
            boolean isDevice = noted((int) attributes.invokeExact(found, memory)) == SUCCESS
                    && found.get(JAVA_INT, 0) == DEVICE_MEMORY;
            return isDevice ? Device.cuda(found.get(JAVA_INT, Integer.BYTES)) : null;
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Returns the PCI address of a device. */
    public String busId(int device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(BUS_ID_BYTES);
            check((int) busId.invokeExact(text, BUS_ID_BYTES, device), "cudaDeviceGetPCIBusId(" + device + ")");
            return text.getString(0);
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** The code of a function. After a failure the runtime forgets the code. */
    private int noted(int code) {
        if (code != SUCCESS) {
            try {
                int _ = (int) lastError.invokeExact();
            } catch (Throwable e) {
                throw NativeLibrary.unchecked(e);
            }
        }
        return code;
    }

    private int memoryType(MemorySegment memory) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(POINTER_ATTRIBUTES);
            return noted((int) attributes.invokeExact(found, memory)) == SUCCESS ? found.get(JAVA_INT, 0) : 0;
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    private void check(int code, String what) {
        if (noted(code) != SUCCESS) {
            throw new IllegalStateException(what + " failed with CUDA error " + code);
        }
    }
}
