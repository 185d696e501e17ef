package io.jrun.comm.backend;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * A call's buffers in native memory, for libraries that take addresses. Native buffers are used directly, heap buffers
 * are copied. {@link #deliver} copies the output back. Confined to the thread that runs the call.
 */
public final class NativeBuffers implements AutoCloseable {
    private static final long ALIGNMENT = 64;

    private final Arena copies = Arena.ofConfined();
    private final MemorySegment callersOutput;
    private final MemorySegment input;
    private final MemorySegment output;

    private NativeBuffers(MemorySegment callersInput, long inputBytes, MemorySegment callersOutput, long outputBytes) {
        this.callersOutput =
                callersOutput.equals(MemorySegment.NULL) ? MemorySegment.NULL : callersOutput.asSlice(0, outputBytes);
        // Segments with the same address are equal, even if their sizes differ.
        boolean inPlace = callersInput.equals(callersOutput) && inputBytes == outputBytes;
        this.input = toNative(callersInput, inputBytes);
        this.output = inPlace ? input : toNative(callersOutput, outputBytes);
    }

    /** Makes the buffers of {@code call} on a group of {@code size} ranks. */
    public static NativeBuffers of(Call call, int size) {
        long block = call.bytes();
        long all = block * size;
        long input = switch (call.kind()) {
            case REDUCE_SCATTER, SCATTER, ALL_TO_ALL -> all;
            case BARRIER, ALLOCATE, ALLOCATE_SHARED -> 0;
            default -> block;
        };
        long output = switch (call.kind()) {
            case ALL_GATHER, GATHER, ALL_TO_ALL -> all;
            case BARRIER, ALLOCATE, ALLOCATE_SHARED -> 0;
            default -> block;
        };
        return new NativeBuffers(call.input(), input, call.output(), output);
    }

    private MemorySegment toNative(MemorySegment buffer, long bytes) {
        if (buffer.equals(MemorySegment.NULL)) {
            return MemorySegment.NULL;
        }
        if (buffer.isNative()) {
            return buffer.asSlice(0, bytes);
        }
        MemorySegment copy = copies.allocate(bytes, ALIGNMENT);
        return copy.copyFrom(buffer.asSlice(0, bytes));
    }

    /** The memory that the call reads, exactly as long as needed; NULL if this rank has none. */
    public MemorySegment input() {
        return input;
    }

    /** The memory that the call writes, exactly as long as needed; NULL if this rank has none. */
    public MemorySegment output() {
        return output;
    }

    /** Copies the results to the caller's memory. Not callable after a failure, when the copy is undefined. */
    public void deliver() {
        if (!callersOutput.equals(MemorySegment.NULL) && !callersOutput.isNative() && !callersOutput.isReadOnly()) {
            callersOutput.copyFrom(output);
        }
    }

    @Override
    public void close() {
        copies.close();
    }
}
