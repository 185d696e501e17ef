package io.jrun.comm.backend;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Native memory for the operation that runs, kept for the next one unless it is much. Confined to one thread at a time. */
public final class Scratch {
    /** What a group keeps between operations: the bucket of a gradient reduction, twice. */
    private static final long MAX_KEPT_BYTES = 64L << 20;

    private static final long ALIGNMENT = 64;

    private MemorySegment kept = MemorySegment.NULL;

    /** At least {@code bytes} bytes; what an earlier operation put there is void. */
    public MemorySegment of(long bytes) {
        if (bytes <= kept.byteSize()) {
            return kept;
        }
        // Collected when unreachable, since what a failed operation used may still be looked at.
        MemorySegment made = Arena.ofAuto().allocate(bytes, ALIGNMENT);
        if (bytes <= MAX_KEPT_BYTES) {
            kept = made;
        }
        return made;
    }
}
