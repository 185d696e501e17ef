package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.Scratch;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * Reduce-scatter over nodes of any numbers of ranks, of blocks of any sizes: inside the node each column's rank gets the
 * partial results of its shares of all nodes' spans, which the column then reduces and scatters across the nodes; piece by
 * piece. Where shares are not blocks, a node's ranks hand each other what is in their blocks.
 *
 * <p>Bytes on the wire: what the column's algorithm sends of the columns' shares; of every node's span every other node sends
 * one partial result, however many ranks it has. Scratch memory: a column's part of two pieces, and two pieces of a share; and a
 * piece, brought into the order of the columns, if it is the only one or the group's ranks do not follow each other on nodes.
 *
 * <p>Source: as {@link ShardedAllReduce}, its first half.
 */
final class ColumnReduceScatter {
    private static final int IN_FLIGHT = 2;

    private final HierarchyContext plane;
    private final Topology topology;
    private final Call call;
    private final ReduceOp op;
    private final NodeBlocks nodeBlocks;
    private final boolean isShareOwn;
    /** Whether shares are folded where they are, in a step inside the node for each node: of one piece, a copy costs less. */
    private final boolean isInPlace;

    private final Blocks longest;
    private final MemorySegment partials;
    private final MemorySegment results;
    private final MemorySegment ordered;
    private final ArrayDeque<InterNodeCalls.Pending> pending = new ArrayDeque<>();

    private ColumnReduceScatter(HierarchyContext plane, Scratch scratch, Call call) {
        this.plane = plane;
        this.topology = plane.topology();
        this.call = call;
        this.op = HierarchyContext.partial(call.op());
        this.nodeBlocks = NodeBlocks.of(plane, call);
        this.isShareOwn = nodeBlocks.isShareOwn();
        this.isInPlace = topology.isInOrder() && nodeBlocks.pieces() > 1;
        this.longest = nodeBlocks.column(0, topology.place());
        long partialBytes = IN_FLIGHT * longest.total() * call.type().sizeBytes();
        long resultBytes =
                IN_FLIGHT * longest.count(topology.node()) * call.type().sizeBytes();
        long orderedBytes =
                isInPlace ? 0 : nodeBlocks.columns(0).total() * call.type().sizeBytes();
        MemorySegment memory = scratch.of(partialBytes + resultBytes + orderedBytes);
        this.partials = memory.asSlice(0, partialBytes);
        this.results = memory.asSlice(partialBytes, resultBytes);
        this.ordered = memory.asSlice(partialBytes + resultBytes, orderedBytes);
    }

    static void run(HierarchyContext plane, Scratch scratch, Call call) {
        new ColumnReduceScatter(plane, scratch, call).run();
    }

    private void run() {
        for (int piece = 0; piece < nodeBlocks.pieces(); piece++) {
            if (piece >= IN_FLIGHT) {
                deliver(piece - IN_FLIGHT);
            }
            reduce(piece);
        }
        for (int piece = Math.max(0, nodeBlocks.pieces() - IN_FLIGHT); piece < nodeBlocks.pieces(); piece++) {
            deliver(piece);
        }
        plane.finish(call, nodeBlocks.slice(call.output(), 0, nodeBlocks.own()));
    }

    private void order(int piece) {
        long at = 0;
        for (int place = 0; place < topology.columnCount(); place++) {
            for (int node = 0; node < topology.nodeCount(); node++) {
                nodeBlocks.copyIn(call.input(), node, place, piece, ordered, at);
                at += nodeBlocks.count(node, place, piece);
            }
        }
    }

    private void reduce(int piece) {
        Blocks shares = nodeBlocks.column(piece, topology.place());
        MemorySegment partial = nodeBlocks.slice(partials, piece % IN_FLIGHT * longest.total(), shares.total());
        if (isInPlace) {
            foldInPlace(piece, shares, partial);
        } else {
            order(piece);
            plane.node().reduceScatter(call, op, ordered, partial, nodeBlocks.columns(piece));
        }
        if (shares.total() == 0) {
            pending.add(InterNodeCalls.NOTHING);
            return;
        }
        MemorySegment result = result(piece, shares.count(topology.node()));
        Call part = InterNodeCalls.part(call, OpKind.REDUCE_SCATTER, op, partial, result, shares);
        pending.add(plane.column().run(part, nodeBlocks.pieces() > 1));
    }

    private void foldInPlace(int piece, Blocks shares, MemorySegment partial) {
        for (int node = 0; node < topology.nodeCount(); node++) {
            MemorySegment own = nodeBlocks.slice(partial, shares.offset(node), shares.count(node));
            plane.node().reduceScatter(call, op, call.input(), own, nodeBlocks.sharesInPlace(node, piece));
        }
    }

    private void deliver(int piece) {
        pending.remove().await();
        if (!isShareOwn) {
            Blocks outgoing = nodeBlocks.members(piece, topology.place());
            MemorySegment result = result(piece, outgoing.total());
            plane.node().allToAll(call, result, outgoing, call.output(), nodeBlocks.sharersInPlace(piece));
        }
    }

    private MemorySegment result(int piece, long count) {
        return isShareOwn
                ? nodeBlocks.own(call.output(), piece, nodeBlocks.pieces())
                : nodeBlocks.slice(results, piece % IN_FLIGHT * longest.count(topology.node()), count);
    }
}
