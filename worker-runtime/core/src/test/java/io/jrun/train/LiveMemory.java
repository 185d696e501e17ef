package io.jrun.train;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Pointer;

/** The bytes that this process uses: allocated with malloc and not freed, or mapped from shared memory. */
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

    /** Bytes of the files in shared memory that this process has mapped: groups' registered memory. */
    public static long sharedBytes() {
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            Map<String, Long> byFile = new HashMap<>();
            maps.map(line -> line.split("\\s+"))
                    .filter(fields -> fields.length > 5 && fields[5].startsWith("/dev/shm/"))
                    .forEach(fields -> byFile.merge(fields[4], length(fields[0]), Math::max));
            return byFile.values().stream().mapToLong(Long::longValue).sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static long length(String range) {
        String[] ends = range.split("-", 2);
        return Long.parseUnsignedLong(ends[1], 16) - Long.parseUnsignedLong(ends[0], 16);
    }

    /**
     * Frees the tensors that no reference reaches, so that the collector frees none of them during a measurement. The
     * second collection begins when the references of the first one are in their queues.
     */
    public static void freeUnreachable() {
        try {
            for (int i = 0; i < 2; i++) {
                ReferenceQueue<Object> queue = new ReferenceQueue<>();
                PhantomReference<Object> unreachable = new PhantomReference<>(new Object(), queue);
                System.gc();
                if (!unreachable.equals(queue.remove(TimeUnit.SECONDS.toMillis(30)))) {
                    throw new AssertionError("the collector has taken no object in 30 seconds");
                }
                Pointer.deallocateReferences();
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /**
     * The bytes by which the process grows in each of several rounds, at least. Memory that each round leaves makes all
     * rounds grow. The JVM takes and frees memory of its own, which makes some rounds grow and others shrink.
     */
    public static long leastGrowth(int rounds, Runnable round) {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < rounds; i++) {
            long before = bytes();
            round.run();
            least = Math.min(least, bytes() - before);
        }
        return least;
    }

    /** Bytes of malloc in use, in blocks of all sizes. */
    public static long bytes() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment counts = (MemorySegment) MALLINFO2.invokeExact((SegmentAllocator) arena);
            return counts.getAtIndex(ValueLayout.JAVA_LONG, MAPPED) + counts.getAtIndex(ValueLayout.JAVA_LONG, IN_USE);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
