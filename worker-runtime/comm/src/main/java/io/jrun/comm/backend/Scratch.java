package io.jrun.comm.backend;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Native memory of the running operation. Memory up to a limit is kept for the next operation. Confined to one thread
 * at a time.
 */
public final class Scratch {
    /** The limit of kept memory: twice the bucket of a gradient reduction. */
    private static final long MAX_KEPT_BYTES = 64L << 20;

    private static final long ALIGNMENT = 64;

    private MemorySegment kept = MemorySegment.NULL;

    /** Returns at least {@code bytes} bytes. The content of earlier operations is lost. */
    public MemorySegment of(long bytes) {
        if (bytes <= kept.byteSize()) {
            return kept;
        }
        // The garbage collector frees old memory, because a failed operation may still read its memory.
        MemorySegment made = Arena.ofAuto().allocate(bytes, ALIGNMENT);
        if (bytes <= MAX_KEPT_BYTES) {
            kept = made;
        }
        return made;
    }
}
