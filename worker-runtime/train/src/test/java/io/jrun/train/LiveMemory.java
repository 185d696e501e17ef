package io.jrun.train;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** The bytes that this process has allocated with malloc and not freed. */
public final class LiveMemory {
    /** {@code struct mallinfo2} of glibc: ten counts. */
    private static final MemoryLayout COUNTS = MemoryLayout.sequenceLayout(10, ValueLayout.JAVA_LONG);

    private static final int MAPPED = 4;
    private static final int IN_USE = 7;

    private static final MethodHandle MALLINFO2 = Linker.nativeLinker()
            .downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow("mallinfo2"),
                    FunctionDescriptor.of(MemoryLayout.structLayout(COUNTS)));

    private LiveMemory() {}

    /** Bytes in use, in blocks of all sizes. */
    public static long bytes() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment counts = (MemorySegment) MALLINFO2.invokeExact((SegmentAllocator) arena);
            return counts.getAtIndex(ValueLayout.JAVA_LONG, MAPPED) + counts.getAtIndex(ValueLayout.JAVA_LONG, IN_USE);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
