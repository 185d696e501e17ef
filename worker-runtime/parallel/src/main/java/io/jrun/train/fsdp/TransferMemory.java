package io.jrun.train.fsdp;

import io.jrun.comm.ProcessGroup;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Memory of whole units and of the gradients that travel, which one unit uses after another. The memory is the group's
 * registered memory: over shared memory a rank reads the memory of the other ranks without further copies. Memory that
 * is used again has no page faults. Lives until the group is closed. Confined to the training thread. All ranks take
 * and give in the same order, because new registered memory is a collective.
 */
final class TransferMemory {
    private final ProcessGroup group;
    private final List<MemorySegment> free = new ArrayList<>();

    TransferMemory(ProcessGroup group) {
        this.group = group;
    }

    /** At least this many bytes, with any values. */
    MemorySegment take(long bytes) {
        MemorySegment smallest = free.stream()
                .filter(memory -> memory.byteSize() >= bytes)
                .min(Comparator.comparingLong(MemorySegment::byteSize))
                .orElse(null);
        if (smallest == null) {
            return group.allocate(bytes);
        }
        free.remove(smallest);
        return smallest;
    }

    /** Takes back what {@link #take} returned. */
    void give(MemorySegment memory) {
        free.add(memory);
    }
}
