package io.jrun.train.device;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.jrun.comm.cuda.MissingLibraryException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * An object of libtorch's class {@code at::cuda::CUDAGraph}, which the presets do not map: a graph with memory of its own
 * and with the states of random generators. Its functions are called by their names in {@code libtorch_cuda.so}.
 *
 * <p>An exception of C++ cannot pass through a call from Java: it ends the process. The caller therefore asks the CUDA
 * runtime for errors before {@link #begin}, {@link #end} and {@link #replay}. Confined to the thread that records. Source:
 * aten/src/ATen/cuda/CUDAGraph.h and CUDAGraph.cpp of torch 2.10; docs/adr/0013.
 */
final class LibtorchGraph implements AutoCloseable {
    private static final String LIBRARY = "libtorch_cuda.so";
    private static final String CLASS = "_ZN2at4cuda9CUDAGraph";

    /** The object has 98 bytes in torch 2.10. */
    private static final long BYTES = 1024;

    private static final long ALIGNMENT = 16;

    /** Calls of other threads of this process, such as those of a checkpoint, do not spoil the capture. */
    private static final int THREAD_LOCAL = 1;

    /** std::pair of two numbers, which travels by value in two registers. Zeros ask for a memory pool of its own. */
    private static final StructLayout POOL =
            MemoryLayout.structLayout(JAVA_LONG.withName("first"), JAVA_LONG.withName("second"));

    private final MemorySegment object = Arena.global().allocate(BYTES, ALIGNMENT);
    private final MemorySegment pool = Arena.global().allocate(POOL);
    private final MethodHandle create = function("C1Eb", JAVA_BOOLEAN);
    private final MethodHandle destroy = function("D1Ev");
    private final MethodHandle register = function("24register_generator_stateERKNS_9GeneratorE", ADDRESS);
    private final MethodHandle begin = function("13capture_beginESt4pairIyyE21cudaStreamCaptureMode", POOL, JAVA_INT);
    private final MethodHandle end = function("11capture_endEv");
    private final MethodHandle replay = function("6replayEv");

    /**
     * Finds the functions of the class. libtorch's CUDA build is loaded.
     *
     * @throws MissingLibraryException if this libtorch has no such class
     */
    LibtorchGraph() {}

    /** Makes an empty graph, which belongs to the current device of this thread. Called once, before all else. */
    void create() {
        try {
            create.invokeExact(object, false);
        } catch (Throwable e) {
            throw failure(e);
        }
    }

    /** Finds the library that is loaded: the linker compares its name. */
    private static MethodHandle function(String name, MemoryLayout... arguments) {
        MemoryLayout[] all = new MemoryLayout[arguments.length + 1];
        all[0] = ADDRESS;
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        try {
            MemorySegment address = SymbolLookup.libraryLookup(LIBRARY, Arena.global())
                    .find(CLASS + name)
                    .orElseThrow(() -> new MissingLibraryException(
                            LIBRARY + " has no function " + CLASS + name + ": another version than torch 2.10"));
            return Linker.nativeLinker().downcallHandle(address, FunctionDescriptor.ofVoid(all));
        } catch (IllegalArgumentException notThere) {
            throw new MissingLibraryException(LIBRARY + " is not loaded: CUDA graphs need libtorch's CUDA build");
        }
    }

    /**
     * Gives the graph a random generator, so that each replay has new numbers. The default generator of the device needs
     * no call.
     *
     * @param generator the address of a {@code c10::Generator} of the device; one of another device ends the process
     */
    void register(MemorySegment generator) {
        try {
            register.invokeExact(object, generator);
        } catch (Throwable e) {
            throw failure(e);
        }
    }

    /** Begins to record the current stream of this thread, which must not be the default stream. */
    void begin() {
        try {
            begin.invokeExact(object, pool, THREAD_LOCAL);
        } catch (Throwable e) {
            throw failure(e);
        }
    }

    /** Ends a capture that is active, and makes the graph executable. The current stream is that of {@link #begin}. */
    void end() {
        try {
            end.invokeExact(object);
        } catch (Throwable e) {
            throw failure(e);
        }
    }

    /** Queues the recorded work on the current stream of this thread. */
    void replay() {
        try {
            replay.invokeExact(object);
        } catch (Throwable e) {
            throw failure(e);
        }
    }

    /** Frees the graph and its memory on the device. Not after a {@link #begin} without an {@link #end}. */
    @Override
    public void close() {
        try {
            destroy.invokeExact(object);
        } catch (Throwable e) {
            throw failure(e);
        }
    }

    private static RuntimeException failure(Throwable thrown) {
        if (thrown instanceof Error error) {
            throw error;
        }
        return thrown instanceof RuntimeException exception ? exception : new IllegalStateException(thrown);
    }
}
