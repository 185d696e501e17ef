package io.jrun.train;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** How much memory this process has allocated with malloc and not freed. */
public final class LiveMemory {
    /** {@code struct mallinfo2} of glibc: ten counts. */
    private static final MemoryLayout MALLINFO = MemoryLayout.sequenceLayout(10, ValueLayout.JAVA_LONG);

    private static final int MAPPED = 4;
    private static final int IN_USE = 7;

    private LiveMemory() {}

    /** Bytes in use, in blocks of all sizes. */
    public static long bytes() {
        MemoryLayout struct = MemoryLayout.structLayout(MALLINFO);
        Linker linker = Linker.nativeLinker();
        MethodHandle mallinfo = linker.downcallHandle(
                linker.defaultLookup().find("mallinfo2").orElseThrow(), FunctionDescriptor.of(struct));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment counts = (MemorySegment) mallinfo.invokeExact((SegmentAllocator) arena);
            return counts.getAtIndex(ValueLayout.JAVA_LONG, MAPPED) + counts.getAtIndex(ValueLayout.JAVA_LONG, IN_USE);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
