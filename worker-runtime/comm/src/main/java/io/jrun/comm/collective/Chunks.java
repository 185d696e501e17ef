package io.jrun.comm.collective;

import java.lang.foreign.MemorySegment;

/**
 * A buffer of {@code count} elements cut into one chunk per rank, as even as whole elements allow: the first
 * {@code count % parts} chunks have one element more. Chunks may be empty.
 *
 * @param count elements in the whole buffer, any {@code long}
 * @param parts number of chunks, the group size
 * @param elementBytes size of one element
 */
record Chunks(long count, int parts, int elementBytes) {
    /** First byte of chunk {@code index}. */
    long offset(int index) {
        return (index * (count / parts) + Math.min(index, count % parts)) * elementBytes;
    }

    /** Bytes in chunk {@code index}. */
    long length(int index) {
        return offset(index + 1) - offset(index);
    }

    /** Bytes in the longest chunk, which is the first. */
    long longest() {
        return length(0);
    }

    /** The memory of chunk {@code index} of {@code buffer}. */
    MemorySegment slice(MemorySegment buffer, int index) {
        return buffer.asSlice(offset(index), length(index));
    }
}
