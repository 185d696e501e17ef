package io.jrun.comm.hierarchy;

import io.jrun.comm.tcp.TcpOptions;
import java.lang.foreign.MemorySegment;

/**
 * A run of elements cut into pieces, so that one can be on the network while the next is worked on inside the node.
 *
 * @param count elements in all, more than 0
 * @param stride elements of every piece but the last
 * @param elementBytes size of one element
 */
record PipelineChunks(long count, long stride, int elementBytes) {
    /**
     * Some milliseconds of a fast network, beside which what a piece costs (a few barriers, a round trip) is nothing; and
     * small enough that both ends of the pipeline, where only one of the planes works, do not show. Measured, see docs/algorithms.md.
     */
    static final long BYTES = 8 << 20;

    /** A message of a ring is not to be smaller: several times what a frame costs whatever its size. */
    static final long MESSAGE_BYTES = 64 << 10;

    /**
     * How large pieces are, as all ranks derive alike. A ring of a column sends a part for each column and node of a piece,
     * so pieces grow with the world; and with the connections, or more of them would carry nothing.
     */
    static long bytes(TcpOptions options, int columns, int nodes) {
        long least = columns * Math.max(nodes * MESSAGE_BYTES, options.bytesForAllConnections());
        return options.pieceBytes().orElse(Math.max(BYTES, least));
    }

    /**
     * Pieces of about {@code bytes} bytes whose number of elements {@code parts} divides; only the last piece may be smaller
     * and indivisible.
     */
    static PipelineChunks of(long count, int elementBytes, long bytes, int parts) {
        long stride = Math.max(1, bytes / elementBytes / parts) * parts;
        return new PipelineChunks(count, stride, elementBytes);
    }

    int number() {
        return Math.toIntExact(Math.ceilDiv(count, stride));
    }

    /** Elements before piece {@code index}. */
    long offset(int index) {
        return index * stride;
    }

    /** Elements of piece {@code index}. */
    long count(int index) {
        return Math.min(stride, count - offset(index));
    }

    /** Piece {@code index} of the run that begins {@code from} elements into {@code buffer}. */
    MemorySegment slice(MemorySegment buffer, long from, int index) {
        return buffer.asSlice((from + offset(index)) * elementBytes, count(index) * elementBytes);
    }
}
