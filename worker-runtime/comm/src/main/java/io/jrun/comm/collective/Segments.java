package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * The units a chunk is sent in, so that a rank can work on one while the next is under way. All ranks derive the same cut
 * from the longest chunk; in a shorter chunk the last units are shorter or empty.
 *
 * @param bytes bytes of a full unit, a multiple of every element size
 * @param count units per chunk, at least 1
 */
record Segments(long bytes, int count) {
    /**
     * Large enough that the fixed cost of a frame (some 10 us with its system calls) disappears, small enough that the unit
     * is still in the second-level cache when it is folded after being received.
     */
    static final long DEFAULT_BYTES = 256 * 1024;

    /** Units for chunks of up to {@code longest} bytes. */
    static Segments of(long longest) {
        return new Segments(DEFAULT_BYTES, Math.toIntExact(Math.max(1, Math.ceilDiv(longest, DEFAULT_BYTES))));
    }

    /** Unit {@code index} of {@code chunk}. */
    MemorySegment slice(MemorySegment chunk, int index) {
        long from = Math.min(index * bytes, chunk.byteSize());
        return chunk.asSlice(from, Math.min(bytes, chunk.byteSize() - from));
    }
}
