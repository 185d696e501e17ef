package io.jrun.comm.hierarchy;

import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import java.lang.foreign.MemorySegment;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;

/**
 * The division of a buffer with a block for each rank for the transfer between nodes. The contiguous blocks of a node's
 * members are the node's <em>span</em>. A span is divided into one <em>share</em> for each column, independent of the
 * sizes of the blocks. If all blocks are equal, and all nodes have equally many ranks, a rank's share is its block. All
 * shares are divided into equally many pipeline chunks, the <em>pieces</em>, so that one piece can be on the network
 * while the node works on the next. Equal on all ranks. All numbers are numbers of elements.
 *
 * <p>If group ranks are contiguous on nodes, pieces are used in the program's buffer. Otherwise the pieces under way
 * are in slots of scratch memory.
 */
final class NodeBlocks {
    private static final int SLOTS = 2;

    private final Topology topology;
    private final Blocks blocks;
    private final int elementBytes;
    private final int pieces;
    private final long[] starts;
    private final Blocks[] shares;
    private final Blocks slot;

    private NodeBlocks(Topology topology, Blocks blocks, int elementBytes, long pieceBytes) {
        this.topology = topology;
        this.blocks = blocks;
        this.elementBytes = elementBytes;
        this.pieces = Math.toIntExact(Math.max(1, Math.ceilDiv(blocks.total() * elementBytes, pieceBytes)));
        this.starts = new long[blocks.parts()];
        this.shares = new Blocks[topology.nodeCount()];
        for (int node = 0; node < shares.length; node++) {
            long length = 0;
            for (int rank : topology.nodes().get(node)) {
                starts[rank] = length;
                length += blocks.count(rank);
            }
            shares[node] = Blocks.cut(length, topology.columnCount());
        }
        int columns = topology.columnCount();
        this.slot = topology.isInOrder()
                ? Blocks.NONE
                : forEach(shares.length * columns, at -> count(at / columns, at % columns, 0));
    }

    /** Makes the division of the buffer of {@code call} that has a block for each rank. */
    static NodeBlocks of(HierarchyContext context, Call call) {
        return new NodeBlocks(
                context.topology(), call.blocks(context.size()), call.type().sizeBytes(), context.pieceBytes());
    }

    /** Number of pieces. */
    int pieces() {
        return pieces;
    }

    /** Whether, for all ranks of this node, the share of the rank is the block of the rank. */
    boolean isShareOwn() {
        return forEachLocalRank(localRank -> share(topology.node(), localRank))
                .equals(forEachLocalRank(localRank -> blocks.count(rank(localRank))));
    }

    /** Number of elements in a piece of the share of {@code localRank} in a node's span; 0 for extra ranks. */
    long count(int node, int localRank, int piece) {
        return Blocks.cut(share(node, localRank), pieces).count(piece);
    }

    /** Returns a piece of the shares of the column of {@code localRank}, by node. */
    Blocks column(int piece, int localRank) {
        return forEach(shares.length, node -> count(node, localRank, piece));
    }

    /** Returns the sizes of all columns' parts of a piece, by local rank. */
    Blocks columns(int piece) {
        return forEachLocalRank(localRank -> column(piece, localRank).total());
    }

    /** Returns a piece of the shares of a column, at their offsets in the program's buffer or in the slots, by node. */
    Blocks columnInPlace(int piece, int localRank) {
        return column(piece, localRank).at(forEachOffset(shares.length, node -> offset(node, localRank, piece)));
    }

    /**
     * Returns a piece of all shares of a node's span, at their offsets in the program's buffer or in the slots, by
     * local rank.
     */
    Blocks sharesInPlace(int node, int piece) {
        return forEachLocalRank(localRank -> count(node, localRank, piece))
                .at(forEachOffset(topology.local().size(), localRank -> offset(node, localRank, piece)));
    }

    /**
     * Returns part {@code part} of {@code parts} of the blocks of this node's members, at their offsets in the
     * program's buffer.
     */
    Blocks membersInPlace(int part, int parts) {
        return forEachLocalRank(localRank -> cut(localRank, parts).count(part))
                .at(forEachOffset(
                        topology.local().size(),
                        localRank -> blocks.offset(rank(localRank))
                                + cut(localRank, parts).offset(part)));
    }

    /**
     * Returns the parts of each member's block in a piece of the share of {@code sharer} in this node's span, by local
     * rank.
     */
    Blocks members(int piece, int sharer) {
        long from = start(topology.node(), sharer, piece);
        long to = from + count(topology.node(), sharer, piece);
        return forEachLocalRank(localRank -> overlap(rank(localRank), from, to));
    }

    /**
     * Returns the parts of this rank's block in a piece of each share of this node's span, at their offsets in the
     * block.
     */
    Blocks sharersInPlace(int piece) {
        int node = topology.node();
        return forEachLocalRank(localRank -> {
                    long from = start(node, localRank, piece);
                    return overlap(topology.rank(), from, from + count(node, localRank, piece));
                })
                .at(forEachOffset(
                        topology.local().size(), localRank -> before(topology.rank(), start(node, localRank, piece))));
    }

    /** Number of elements in this rank's block. */
    long own() {
        return blocks.count(topology.rank());
    }

    /** Returns part {@code part} of {@code parts} of this rank's block. */
    MemorySegment own(MemorySegment block, int part, int parts) {
        Blocks cut = cut(topology.localRank(), parts);
        return slice(block, cut.offset(part), cut.count(part));
    }

    /** Returns {@code count} elements of a buffer from element {@code offset} on. */
    MemorySegment slice(MemorySegment buffer, long offset, long count) {
        return buffer.asSlice(offset * elementBytes, count * elementBytes);
    }

    /** Size of the slots in bytes; 0 if pieces are used in the program's buffer. */
    long slotBytes() {
        return SLOTS * slot.total() * elementBytes;
    }

    /** Copies a piece of a share from the program's buffer to {@code memory}, from element {@code offset} on. */
    void copyIn(MemorySegment buffer, int node, int localRank, int piece, MemorySegment memory, long offset) {
        copy(
                node,
                localRank,
                piece,
                (there, at, count) -> slice(memory, offset + at, count).copyFrom(slice(buffer, there, count)));
    }

    /** Copies a piece of a share from {@code memory}, from element {@code offset} on, to the program's buffer. */
    void copyOut(MemorySegment memory, long offset, int node, int localRank, int piece, MemorySegment buffer) {
        copy(
                node,
                localRank,
                piece,
                (there, at, count) -> slice(buffer, there, count).copyFrom(slice(memory, offset + at, count)));
    }

    /** Returns the offset of a piece of a share in the program's buffer, or in the slots. */
    long offset(int node, int localRank, int piece) {
        int first = topology.nodes().get(node).getFirst();
        return topology.isInOrder()
                ? blocks.offset(first) + start(node, localRank, piece)
                : piece % SLOTS * slot.total()
                        + slot.offset(node * topology.columnCount() + Math.min(localRank, topology.columnCount()));
    }

    /**
     * Copies the elements of a piece of a share from {@code at} on, which are at {@code there} in the program's buffer.
     */
    @FunctionalInterface
    private interface Copying {
        void copy(long there, long at, long count);
    }

    private void copy(int node, int localRank, int piece, Copying copying) {
        long from = start(node, localRank, piece);
        long to = from + count(node, localRank, piece);
        for (int rank : topology.nodes().get(node)) {
            long count = overlap(rank, from, to);
            if (count > 0) {
                long before = before(rank, from);
                copying.copy(blocks.offset(rank) + before, starts[rank] + before - from, count);
            }
        }
    }

    /**
     * Returns the start of a piece of the share of {@code localRank} in a node's span; the end of the span for an extra
     * rank.
     */
    private long start(int node, int localRank, int piece) {
        return shares[node].offset(Math.min(localRank, topology.columnCount()))
                + Blocks.cut(share(node, localRank), pieces).offset(piece);
    }

    private long share(int node, int localRank) {
        return localRank < topology.columnCount() ? shares[node].count(localRank) : 0;
    }

    private long overlap(int rank, long from, long to) {
        return before(rank, to) - before(rank, from);
    }

    /** Number of elements of a rank's block before a position in the span of its node. */
    private long before(int rank, long position) {
        return Math.clamp(position - starts[rank], 0, blocks.count(rank));
    }

    private Blocks cut(int localRank, int parts) {
        return Blocks.cut(blocks.count(rank(localRank)), parts);
    }

    private int rank(int localRank) {
        return topology.local().get(localRank);
    }

    private Blocks forEachLocalRank(IntToLongFunction count) {
        return forEach(topology.local().size(), count);
    }

    private static Blocks forEach(int number, IntToLongFunction count) {
        return Blocks.of(forEachOffset(number, count));
    }

    private static long[] forEachOffset(int number, IntToLongFunction offset) {
        return IntStream.range(0, number).mapToLong(offset).toArray();
    }
}
