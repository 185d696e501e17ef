package io.jrun.comm.collective;

import io.jrun.comm.backend.Blocks;
import java.lang.foreign.MemorySegment;

/**
 * A buffer divided into one chunk per rank, in bytes. Chunks may be empty.
 *
 * @param blocks the division, in elements
 * @param elementBytes size of one element
 */
record Chunks(Blocks blocks, int elementBytes) {
    /**
     * Divides a buffer of {@code count} elements as evenly as whole elements allow; {@code parts} is the group size.
     */
    Chunks(long count, int parts, int elementBytes) {
        this(Blocks.cut(count, parts), elementBytes);
    }

    /** Offset of chunk {@code index} in bytes. The offset of the number of chunks is the end of the buffer. */
    long offset(int index) {
        return blocks.offset(index) * elementBytes;
    }

    /** Size of chunk {@code index} in bytes. */
    long length(int index) {
        return blocks.count(index) * elementBytes;
    }

    /** Size of the longest chunk in bytes. */
    long longest() {
        return blocks.longest() * elementBytes;
    }

    /** Size of all chunks in bytes. */
    long total() {
        return blocks.total() * elementBytes;
    }

    /** Returns the chunks rotated to begin with chunk {@code first}. */
    Chunks from(int first) {
        return new Chunks(blocks.from(first), elementBytes);
    }

    /** Returns the memory of chunk {@code index} of {@code buffer}. */
    MemorySegment slice(MemorySegment buffer, int index) {
        return buffer.asSlice(offset(index), length(index));
    }
}
