package io.jrun.comm.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The capture of a stream into a graph: what the CUDA runtime says of it, and its end without a graph. libtorch begins a
 * capture and ends one that has succeeded. Immutable. Source: NVIDIA's CUDA Runtime API, section Stream Management.
 */
public final class StreamCapture {
    /** The state of a capture: cudaStreamCaptureStatus. */
    public enum Status {
        /** The stream is not captured. */
        NONE,
        /** The stream records its work. */
        ACTIVE,
        /** A call that a graph cannot hold has spoiled the capture. The capture can only be ended. */
        INVALIDATED
    }

    private final MethodHandle isCapturing;
    private final MethodHandle end;
    private final MethodHandle destroy;

    private StreamCapture(NativeLibrary library) {
        this.isCapturing = library.function("cudaStreamIsCapturing", ADDRESS, ADDRESS);
        this.end = library.function("cudaStreamEndCapture", ADDRESS, ADDRESS);
        this.destroy = library.function("cudaGraphDestroy", ADDRESS);
    }

    /**
     * Loads the CUDA runtime.
     *
     * @throws MissingLibraryException if there is no CUDA runtime, or if it is too old
     */
    public static StreamCapture open() {
        return new StreamCapture(NativeLibrary.open(Cuda.FILES)
                .orElseThrow(() -> new MissingLibraryException("the CUDA runtime is not installed")));
    }

    /**
     * The state of the capture of a stream.
     *
     * @throws IllegalStateException if the runtime knows no such stream
     */
    public Status status(MemorySegment stream) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(JAVA_INT);
            int code = (int) isCapturing.invokeExact(stream, found);
            if (code != Cuda.SUCCESS) {
                throw new IllegalStateException("cudaStreamIsCapturing failed with CUDA error " + code);
            }
            return Status.values()[found.get(JAVA_INT, 0)];
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }

    /** Ends a capture on the thread that has begun it, and drops what it has recorded. Does nothing without a capture. */
    public void abandon(MemorySegment stream) {
        if (status(stream) == Status.NONE) {
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment place = arena.allocate(ADDRESS);
            int _ = (int) end.invokeExact(stream, place); // an error, if the capture is invalidated
            MemorySegment graph = place.get(ADDRESS, 0);
            if (!graph.equals(MemorySegment.NULL)) {
                int _ = (int) destroy.invokeExact(graph);
            }
        } catch (Throwable e) {
            throw NativeLibrary.unchecked(e);
        }
    }
}
