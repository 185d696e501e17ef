package io.jrun.comm.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.util.List;

/** The functions of the CUDA runtime that a group needs. A failed function throws IllegalStateException. */
public final class Cuda {
    /** The code of success. */
    public static final int SUCCESS = 0;
    /** The code of a query whose work has not ended. */
    public static final int NOT_READY = 600;
    /** The direction of a copy to device memory. */
    public static final int HOST_TO_DEVICE = 1;
    /** The direction of a copy to host memory. */
    public static final int DEVICE_TO_HOST = 2;

    /** cudaPointerAttributes. Type 0 is host memory that is not registered with CUDA. */
    public static final StructLayout POINTER_ATTRIBUTES = MemoryLayout.structLayout(
            JAVA_INT.withName("type"),
            JAVA_INT.withName("device"),
            ADDRESS.withName("devicePointer"),
            ADDRESS.withName("hostPointer"),
            MemoryLayout.sequenceLayout(8, JAVA_LONG).withName("reserved"));

    private static final List<String> FILES = List.of("libcudart.so.13", "libcudart.so.12", "libcudart.so");
    private static final int NON_BLOCKING_STREAM = 1;
    private static final int WITHOUT_TIMES = 2;

    /** The legacy default stream of the device: PyTorch uses this stream if the program chooses no other stream. */
    public static final MemorySegment DEFAULT_STREAM = MemorySegment.NULL;

    /** The type of device memory in cudaPointerAttributes; 1 is pinned host memory, 3 managed memory. */
    private static final int DEVICE_MEMORY = 2;

    private static final int PORTABLE_AND_MAPPED = 1 | 2;

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
    private final MethodHandle allocateDevice;
    private final MethodHandle freeDevice;
    private final MethodHandle allocatePinned;
    private final MethodHandle freePinned;
    private final MethodHandle copy;
    private final MethodHandle attributes;

    private Cuda(NativeLibrary library) {
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
        this.allocateDevice = library.function("cudaMalloc", ADDRESS, JAVA_LONG);
        this.freeDevice = library.function("cudaFree", ADDRESS);
        this.allocatePinned = library.function("cudaHostAlloc", ADDRESS, JAVA_LONG, JAVA_INT);
        this.freePinned = library.function("cudaFreeHost", ADDRESS);
        this.copy = library.function("cudaMemcpyAsync", ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, ADDRESS);
        this.attributes = library.function("cudaPointerGetAttributes", ADDRESS, ADDRESS);
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
                                + "). Install CUDA 12 or 13, or put its folder on LD_LIBRARY_PATH")));
    }

    /** The number of GPUs that this process sees; 0 without a driver. */
    public int devices() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            return call(deviceCount, count) == SUCCESS ? count.get(JAVA_INT, 0) : 0;
        }
    }

    /** Makes {@code device} the current device of this thread. */
    public void use(int device) {
        check(call(setDevice, device), "cudaSetDevice(" + device + ")");
    }

    /** A stream that neither waits for the default stream nor lets the default stream wait. */
    public MemorySegment stream() {
        return made(createStream, "cudaStreamCreateWithFlags", NON_BLOCKING_STREAM);
    }

    /** Destroys a stream of {@link #stream}. Work on the stream still ends. */
    public void destroyStream(MemorySegment stream) {
        int _ = call(destroyStream, stream);
    }

    /** Makes an event without times. */
    public MemorySegment event() {
        return made(createEvent, "cudaEventCreateWithFlags", WITHOUT_TIMES);
    }

    /** Destroys an event of {@link #event}. */
    public void destroyEvent(MemorySegment event) {
        int _ = call(destroyEvent, event);
    }

    /** Makes {@code event} stand for all work that is queued on {@code stream} now. */
    public void record(MemorySegment event, MemorySegment stream) {
        check(call(recordEvent, event, stream), "cudaEventRecord");
    }

    /** Makes later work of {@code stream} run after the work before {@code event}. The caller does not wait. */
    public void await(MemorySegment stream, MemorySegment event) {
        check(call(awaitEvent, stream, event, 0), "cudaStreamWaitEvent");
    }

    /** Whether all work that the event stands for is done. */
    public boolean hasHappened(MemorySegment event) {
        return isDone(call(queryEvent, event), "cudaEventQuery");
    }

    /** Whether all work on the stream is done. */
    public boolean isDone(MemorySegment stream) {
        return isDone(call(queryStream, stream), "cudaStreamQuery");
    }

    private static boolean isDone(int code, String what) {
        if (code == NOT_READY) {
            return false;
        }
        check(code, what);
        return true;
    }

    /** Allocates device memory of the current device. */
    public MemorySegment device(long bytes) {
        return made(allocateDevice, "cudaMalloc of " + bytes + " bytes", bytes);
    }

    /** Frees memory of {@link #device}. May wait for all work of the device. */
    public void freeDevice(MemorySegment memory) {
        int _ = call(freeDevice, memory);
    }

    /** Allocates host memory that GPUs can reach. */
    public MemorySegment pinned(long bytes) {
        return made(allocatePinned, "cudaHostAlloc of " + bytes + " bytes", bytes, PORTABLE_AND_MAPPED)
                .reinterpret(bytes);
    }

    /** Frees memory of {@link #pinned}. */
    public void freePinned(MemorySegment memory) {
        int _ = call(freePinned, memory);
    }

    /** Queues a copy. */
    public void copy(MemorySegment to, MemorySegment from, long bytes, int direction, MemorySegment stream) {
        check(call(copy, to, from, bytes, direction, stream), "cudaMemcpyAsync of " + bytes + " bytes");
    }

    /** Whether a GPU can reach the memory at this address. */
    public boolean isReachable(MemorySegment memory) {
        return memoryType(memory) != 0;
    }

    /** Whether the address is device memory, which the host cannot reach. */
    public boolean isDevice(MemorySegment memory) {
        return memoryType(memory) == DEVICE_MEMORY;
    }

    private int memoryType(MemorySegment memory) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(POINTER_ATTRIBUTES);
            return call(attributes, found, memory) == SUCCESS ? found.get(JAVA_INT, 0) : 0;
        }
    }

    private static MemorySegment made(MethodHandle maker, String what, Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment place = arena.allocate(ADDRESS);
            Object[] all = new Object[arguments.length + 1];
            all[0] = place;
            System.arraycopy(arguments, 0, all, 1, arguments.length);
            check(call(maker, all), what);
            return place.get(ADDRESS, 0);
        }
    }

    private static void check(int code, String what) {
        if (code != SUCCESS) {
            throw new IllegalStateException(what + " failed with CUDA error " + code);
        }
    }

    private static int call(MethodHandle function, Object... arguments) {
        try {
            return (int) function.invokeWithArguments(arguments);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
