package io.jrun.comm.hierarchy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Native memory that one call after another uses; it grows to what the largest needs. Confined to the group's collectives. */
final class Scratch {
    private static final long ALIGNMENT = 64;

    private MemorySegment memory = MemorySegment.NULL;

    /** At least {@code bytes} bytes; what an earlier call put there is void. */
    MemorySegment bytes(long bytes) {
        if (memory.byteSize() < bytes) {
            memory = Arena.ofAuto().allocate(bytes, ALIGNMENT);
        }
        return memory;
    }
}
