package io.jrun.bench.gpu;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Allocator;
import org.bytedeco.pytorch.global.torch;

/**
 * The memory that tensors have taken from libtorch's caching allocator of the first GPU: what Python's
 * {@code torch.cuda.max_memory_allocated} reads. The presets reset the peak. Their class for the numbers needs the
 * presets of CUDA, so the numbers are read by the allocator's virtual function {@code getDeviceStats}. An exception of
 * C++ would end the process; the function throws one only for a GPU on which libtorch has not worked yet.
 *
 * <p>Source: c10/core/CachingDeviceAllocator.h of torch 2.10, and the call in the disassembly of the presets'
 * {@code global.torch.getDeviceStats}.
 */
final class AllocatorStatistics {
    private static final byte FIRST_GPU = 0;

    /** The place of {@code getDeviceStats} in the table of virtual functions. */
    private static final long FUNCTION = 0x48;

    /** The part of libtorch's build settings that names the version with this layout. */
    private static final String KNOWN_VERSION = "TORCH_VERSION=2.10.";

    /** DeviceStats has 976 bytes in torch 2.10. The rest keeps a larger structure from other memory. */
    private static final long BYTES = 16 << 10;

    /** A Stat has four numbers: current, peak, and two sums. A StatArray has three: of all memory first. */
    private static final long STAT_ARRAY = 3 * 4 * Long.BYTES;

    private static final long ALLOCATED = 4 * STAT_ARRAY;
    private static final long RESERVED = 5 * STAT_ARRAY;
    private static final long CURRENT = 0;
    private static final long PEAK = Long.BYTES;

    private AllocatorStatistics() {}

    /** Lets the peak begin again at the bytes in use. libtorch has worked on the GPU. */
    static void resetPeak() {
        torch.resetPeakStats(FIRST_GPU);
    }

    /**
     * The most bytes of tensors at a time since {@link #resetPeak}.
     *
     * @throws IllegalStateException if libtorch has another version than the one whose layout is known
     */
    static long peakBytes() {
        return bytes(PEAK);
    }

    /** The bytes of all tensors now. Throws as {@link #peakBytes}. */
    static long usedBytes() {
        return bytes(CURRENT);
    }

    /** @param number {@link #CURRENT} or {@link #PEAK} */
    private static long bytes(long number) {
        requireKnownVersion(buildSettings());
        try (Arena arena = Arena.ofConfined();
                Allocator allocator = torch.GetAllocator(torch.DeviceType.CUDA)) {
            MemorySegment statistics = arena.allocate(BYTES, Long.BYTES);
            read(MemorySegment.ofAddress(allocator.address()), statistics);
            requireKnownLayout(statistics);
            return statistics.get(JAVA_LONG, ALLOCATED + number);
        }
    }

    /** The settings of the build of the loaded libtorch, with its version. */
    static String buildSettings() {
        try (BytePointer text = torch.show_config()) {
            return text.getString();
        }
    }

    /** Called before the memory of the allocator is read: a place of another version would end the process. */
    static void requireKnownVersion(String settings) {
        GpuCheck.require(
                settings.contains(KNOWN_VERSION),
                "the statistics of the allocator are known for " + KNOWN_VERSION + " only. libtorch says: " + settings);
    }

    private static void read(MemorySegment allocator, MemorySegment statistics) {
        MemorySegment functions = allocator.reinterpret(Long.BYTES).get(ADDRESS, 0);
        MemorySegment function =
                functions.reinterpret(FUNCTION + ADDRESS.byteSize()).get(ADDRESS, FUNCTION);
        // A structure of this size is returned in memory of the caller, whose address is the first argument.
        MethodHandle getDeviceStats =
                Linker.nativeLinker().downcallHandle(function, FunctionDescriptor.ofVoid(ADDRESS, ADDRESS, JAVA_BYTE));
        try {
            getDeviceStats.invokeExact(statistics, allocator, FIRST_GPU);
        } catch (RuntimeException e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static void requireKnownLayout(MemorySegment statistics) {
        long current = statistics.get(JAVA_LONG, ALLOCATED + CURRENT);
        long peak = statistics.get(JAVA_LONG, ALLOCATED + PEAK);
        long reserved = statistics.get(JAVA_LONG, RESERVED + PEAK);
        GpuCheck.require(
                0 < current && current <= peak && peak <= reserved,
                "the allocator's statistics have another layout than torch 2.10's: " + current + ", " + peak + ", "
                        + reserved);
    }
}
