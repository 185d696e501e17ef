package io.jrun.comm.hierarchy;

import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import java.lang.foreign.MemorySegment;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;

/**
 * How a buffer with a block for each rank is carried between nodes. The blocks of a node's members, one behind the other, are
 * its <em>span</em>. A span is cut into a <em>share</em> for each column, whatever the sizes of the blocks: where all are equal,
 * on equal nodes, a rank's share is its block. All shares are cut into equally many <em>pieces</em>, so that one can be on the
 * network while the next is worked on inside the node. Alike on all ranks; counted in elements.
 *
 * <p>If group ranks follow each other on nodes, pieces lie where they are in the program's buffer; else those under way have
 * slots of memory.
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

    /** Of the buffer of {@code call} that has a block for each rank. */
    static NodeBlocks of(HierarchyContext plane, Call call) {
        return new NodeBlocks(
                plane.topology(), call.blocks(plane.size()), call.type().sizeBytes(), plane.pieceBytes());
    }

    /** Number of pieces. */
    int pieces() {
        return pieces;
    }

    /** Whether, on this node, everybody's share is everybody's block. */
    boolean isShareOwn() {
        return forEachPlace(place -> share(topology.node(), place))
                .equals(forEachPlace(place -> blocks.count(rank(place))));
    }

    /** Elements of a piece of the share of {@code place} in a node's span; extra ranks have none. */
    long count(int node, int place, int piece) {
        return Blocks.cut(share(node, place), pieces).count(piece);
    }

    /** A piece of the shares of the column of {@code place}, by node. */
    Blocks column(int piece, int place) {
        return forEach(shares.length, node -> count(node, place, piece));
    }

    /** What each column has of a piece, by place on this node. */
    Blocks columns(int piece) {
        return forEachPlace(place -> column(piece, place).total());
    }

    /** A piece of the shares of a column where they lie in the program's buffer, or in the slots, by node. */
    Blocks columnInPlace(int piece, int place) {
        return column(piece, place).at(forEachOffset(shares.length, node -> offset(node, place, piece)));
    }

    /** A piece of all shares of a node's span where they lie in the program's buffer, or in the slots, by place on this node. */
    Blocks sharesInPlace(int node, int piece) {
        return forEachPlace(place -> count(node, place, piece))
                .at(forEachOffset(topology.local().size(), place -> offset(node, place, piece)));
    }

    /** Part {@code part} of {@code parts} of the blocks of this node's members where they are in the program's buffer, by place. */
    Blocks membersInPlace(int part, int parts) {
        return forEachPlace(place -> cut(place, parts).count(part))
                .at(forEachOffset(
                        topology.local().size(),
                        place -> blocks.offset(rank(place)) + cut(place, parts).offset(part)));
    }

    /** What a piece of the share that {@code sharer} has of this node's span has of each member's block, by place. */
    Blocks members(int piece, int sharer) {
        long from = start(topology.node(), sharer, piece);
        long to = from + count(topology.node(), sharer, piece);
        return forEachPlace(place -> overlap(rank(place), from, to));
    }

    /** What a piece of everybody's share of this node's span has of this rank's block, where it is in the block, by place. */
    Blocks sharersInPlace(int piece) {
        int node = topology.node();
        return forEachPlace(place -> {
                    long from = start(node, place, piece);
                    return overlap(topology.rank(), from, from + count(node, place, piece));
                })
                .at(forEachOffset(
                        topology.local().size(), place -> before(topology.rank(), start(node, place, piece))));
    }

    /** Elements of this rank's block. */
    long own() {
        return blocks.count(topology.rank());
    }

    /** Of part {@code part} of {@code parts} of this rank's block, where it is in the block. */
    MemorySegment own(MemorySegment block, int part, int parts) {
        Blocks cut = cut(topology.place(), parts);
        return slice(block, cut.offset(part), cut.count(part));
    }

    /** {@code count} elements of a buffer from element {@code offset} on. */
    MemorySegment slice(MemorySegment buffer, long offset, long count) {
        return buffer.asSlice(offset * elementBytes, count * elementBytes);
    }

    /** Bytes of the slots; 0 if pieces lie in the program's buffer. */
    long slotBytes() {
        return SLOTS * slot.total() * elementBytes;
    }

    /** Copies a piece of a share from the program's buffer to {@code memory}, from element {@code offset} on. */
    void copyIn(MemorySegment buffer, int node, int place, int piece, MemorySegment memory, long offset) {
        copy(
                node,
                place,
                piece,
                (there, at, count) -> slice(memory, offset + at, count).copyFrom(slice(buffer, there, count)));
    }

    /** Copies a piece of a share from {@code memory}, from element {@code offset} on, to the program's buffer. */
    void copyOut(MemorySegment memory, long offset, int node, int place, int piece, MemorySegment buffer) {
        copy(
                node,
                place,
                piece,
                (there, at, count) -> slice(buffer, there, count).copyFrom(slice(memory, offset + at, count)));
    }

    /** Where a piece of a share is in the program's buffer, or in the slots. */
    long offset(int node, int place, int piece) {
        int first = topology.nodes().get(node).getFirst();
        return topology.isInOrder()
                ? blocks.offset(first) + start(node, place, piece)
                : piece % SLOTS * slot.total()
                        + slot.offset(node * topology.columnCount() + Math.min(place, topology.columnCount()));
    }

    /** Elements from {@code at} on of a piece of a share, which are at {@code there} in the program's buffer. */
    @FunctionalInterface
    private interface Copying {
        void copy(long there, long at, long count);
    }

    private void copy(int node, int place, int piece, Copying copying) {
        long from = start(node, place, piece);
        long to = from + count(node, place, piece);
        for (int rank : topology.nodes().get(node)) {
            long count = overlap(rank, from, to);
            if (count > 0) {
                long before = before(rank, from);
                copying.copy(blocks.offset(rank) + before, starts[rank] + before - from, count);
            }
        }
    }

    /** Where in a node's span a piece of the share of {@code place} begins; that of an extra rank at its end. */
    private long start(int node, int place, int piece) {
        return shares[node].offset(Math.min(place, topology.columnCount()))
                + Blocks.cut(share(node, place), pieces).offset(piece);
    }

    private long share(int node, int place) {
        return place < topology.columnCount() ? shares[node].count(place) : 0;
    }

    private long overlap(int rank, long from, long to) {
        return before(rank, to) - before(rank, from);
    }

    /** Elements of a rank's block that lie before a position in its node's span. */
    private long before(int rank, long position) {
        return Math.clamp(position - starts[rank], 0, blocks.count(rank));
    }

    private Blocks cut(int place, int parts) {
        return Blocks.cut(blocks.count(rank(place)), parts);
    }

    private int rank(int place) {
        return topology.local().get(place);
    }

    private Blocks forEachPlace(IntToLongFunction count) {
        return forEach(topology.local().size(), count);
    }

    private static Blocks forEach(int number, IntToLongFunction count) {
        return Blocks.of(forEachOffset(number, count));
    }

    private static long[] forEachOffset(int number, IntToLongFunction offset) {
        return IntStream.range(0, number).mapToLong(offset).toArray();
    }
}
