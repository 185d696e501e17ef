package io.jrun.comm.hierarchy;

import io.jrun.comm.tcp.TcpOptions;
import java.lang.foreign.MemorySegment;

/**
 * A range of elements divided into pieces, so that one piece can be on the network while the node works on the next.
 *
 * @param count total number of elements, more than 0
 * @param stride number of elements of every piece but the last
 * @param elementBytes size of one element
 */
record PipelineChunks(long count, long stride, int elementBytes) {
    /**
     * The default size of a piece in bytes: some milliseconds of a fast network, far more than the fixed cost of a
     * piece (a few barriers, a round trip), and small enough that the unpipelined ends of the pipeline do not matter.
     * Measured, see docs/algorithms.md.
     */
    static final long BYTES = 8 << 20;

    /** The smallest message of a ring in bytes: several times the cost of a frame. */
    static final long MESSAGE_BYTES = 64 << 10;

    /**
     * Returns the size of a piece in bytes, equal on all ranks. A ring of a column sends a part for each column and
     * node of a piece, so pieces grow with the world. Pieces also grow with the connections, because otherwise some
     * connections would carry nothing.
     */
    static long bytes(TcpOptions options, int columns, int nodes) {
        long least = columns * Math.max(nodes * MESSAGE_BYTES, options.bytesForAllConnections());
        return options.pieceBytes().orElse(Math.max(BYTES, least));
    }

    /**
     * Makes pieces of about {@code bytes} bytes whose number of elements is a multiple of {@code parts}. Only the last
     * piece may be smaller and not a multiple.
     */
    static PipelineChunks of(long count, int elementBytes, long bytes, int parts) {
        long stride = Math.max(1, bytes / elementBytes / parts) * parts;
        return new PipelineChunks(count, stride, elementBytes);
    }

    int number() {
        return Math.toIntExact(Math.ceilDiv(count, stride));
    }

    /** Number of elements before piece {@code index}. */
    long offset(int index) {
        return index * stride;
    }

    /** Number of elements of piece {@code index}. */
    long count(int index) {
        return Math.min(stride, count - offset(index));
    }

    /** Returns piece {@code index} of the range that begins {@code from} elements into {@code buffer}. */
    MemorySegment slice(MemorySegment buffer, long from, int index) {
        return buffer.asSlice((from + offset(index)) * elementBytes, count(index) * elementBytes);
    }
}
