package io.jrun.comm.staging;

import io.jrun.comm.cuda.Cuda;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/**
 * Pinned host memory that the groups of this process use one after another. The memory is not freed: cudaFreeHost waits
 * for all work of all devices, and a kernel can run without end. PyTorch's CachingHostAllocator keeps memory for the
 * same reason. Thread-safe.
 */
final class PinnedPool {
    /** Unused memory by its size. */
    private static final Map<Long, ArrayDeque<MemorySegment>> UNUSED = new HashMap<>();

    private PinnedPool() {}

    /** Returns memory with undefined bytes. */
    static MemorySegment take(Cuda cuda, long bytes) {
        synchronized (UNUSED) {
            ArrayDeque<MemorySegment> unused = UNUSED.get(bytes);
            if (unused != null && !unused.isEmpty()) {
                return unused.pop();
            }
        }
        return cuda.pinned(bytes);
    }

    /** Gives back memory that no copy uses any more. */
    static void giveBack(MemorySegment memory) {
        synchronized (UNUSED) {
            UNUSED.computeIfAbsent(memory.byteSize(), _ -> new ArrayDeque<>()).push(memory);
        }
    }
}
