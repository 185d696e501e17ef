package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * The units in which a chunk is sent, so that a rank can work on one unit while the next is under way. All ranks
 * compute the same division from the longest chunk. In a shorter chunk the last units are shorter or empty.
 *
 * @param bytes size of a full unit in bytes, a multiple of every element size
 * @param count number of units per chunk, at least 1
 */
record Segments(long bytes, int count) {
    /**
     * Large enough that the fixed cost of a frame (about 10 us with its system calls) does not matter, and small enough
     * that a received unit is still in the second-level cache at its reduction.
     */
    static final long DEFAULT_BYTES = 256 * 1024;

    /** Returns the units for chunks of up to {@code longest} bytes. */
    static Segments of(long longest) {
        return new Segments(DEFAULT_BYTES, Math.toIntExact(Math.max(1, Math.ceilDiv(longest, DEFAULT_BYTES))));
    }

    /** Returns unit {@code index} of {@code chunk}. */
    MemorySegment slice(MemorySegment chunk, int index) {
        long from = Math.min(index * bytes, chunk.byteSize());
        return chunk.asSlice(from, Math.min(bytes, chunk.byteSize() - from));
    }
}
