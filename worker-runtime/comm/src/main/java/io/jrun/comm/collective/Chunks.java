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
    /** A buffer of {@code count} elements cut as evenly as whole elements allow; {@code parts} is the group size. */
    Chunks(long count, int parts, int elementBytes) {
        this(Blocks.cut(count, parts), elementBytes);
    }

    /** First byte of chunk {@code index}; the whole buffer's end if that is the number of chunks. */
    long offset(int index) {
        return blocks.offset(index) * elementBytes;
    }

    /** Bytes in chunk {@code index}. */
    long length(int index) {
        return blocks.count(index) * elementBytes;
    }

    /** Bytes in the longest chunk. */
    long longest() {
        return blocks.longest() * elementBytes;
    }

    /** Bytes in all chunks. */
    long total() {
        return blocks.total() * elementBytes;
    }

    /** The chunks counted from chunk {@code first} on. */
    Chunks from(int first) {
        return new Chunks(blocks.from(first), elementBytes);
    }

    /** The memory of chunk {@code index} of {@code buffer}. */
    MemorySegment slice(MemorySegment buffer, int index) {
        return buffer.asSlice(offset(index), length(index));
    }

    /** The memory of {@code count} chunks from chunk {@code first} on. */
    MemorySegment slice(MemorySegment buffer, int first, int count) {
        return buffer.asSlice(offset(first), offset(first + count) - offset(first));
    }
}
