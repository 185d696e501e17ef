package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.Scratch;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * Reduce-scatter over nodes of any numbers of ranks, of blocks of any sizes, in pipeline chunks: inside the node the
 * rank of each column gets the partial results of its shares of the spans of all nodes, and the column then reduces and
 * scatters them across the nodes. If shares are not blocks, the ranks of a node finally exchange the parts of their
 * blocks.
 *
 * <p>Bytes on the wire: the bytes of the column's algorithm for the columns' shares; for the span of every node, every
 * other node sends one partial result, independent of its number of ranks. Scratch memory: a column's part of two
 * chunks, and two chunks of a share; in addition one chunk in the order of the columns, if there is only one chunk or
 * if the group ranks are not contiguous on nodes.
 *
 * <p>Source: the first half of {@link ShardedAllReduce}.
 */
final class ColumnReduceScatter {
    private static final int IN_FLIGHT = 2;

    private final HierarchyContext context;
    private final Topology topology;
    private final Call call;
    private final ReduceOp op;
    private final NodeBlocks nodeBlocks;
    private final boolean isShareOwn;
    /**
     * Whether shares are reduced in the program's buffer, with one step inside the node for each node. For one chunk, a
     * copy costs less.
     */
    private final boolean isInPlace;

    private final Blocks longest;
    private final MemorySegment partials;
    private final MemorySegment results;
    private final MemorySegment ordered;
    private final ArrayDeque<InterNodeCalls.Pending> pending = new ArrayDeque<>();

    private ColumnReduceScatter(HierarchyContext context, Scratch scratch, Call call) {
        this.context = context;
        this.topology = context.topology();
        this.call = call;
        this.op = HierarchyContext.partial(call.op());
        this.nodeBlocks = NodeBlocks.of(context, call);
        this.isShareOwn = nodeBlocks.isShareOwn();
        this.isInPlace = topology.isInOrder() && nodeBlocks.pieces() > 1;
        this.longest = nodeBlocks.column(0, topology.localRank());
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

    static void run(HierarchyContext context, Scratch scratch, Call call) {
        new ColumnReduceScatter(context, scratch, call).run();
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
        context.finish(call, nodeBlocks.slice(call.output(), 0, nodeBlocks.own()));
    }

    private void order(int piece) {
        long at = 0;
        for (int localRank = 0; localRank < topology.columnCount(); localRank++) {
            for (int node = 0; node < topology.nodeCount(); node++) {
                nodeBlocks.copyIn(call.input(), node, localRank, piece, ordered, at);
                at += nodeBlocks.count(node, localRank, piece);
            }
        }
    }

    private void reduce(int piece) {
        Blocks shares = nodeBlocks.column(piece, topology.localRank());
        MemorySegment partial = nodeBlocks.slice(partials, piece % IN_FLIGHT * longest.total(), shares.total());
        if (isInPlace) {
            reduceInPlace(piece, shares, partial);
        } else {
            order(piece);
            context.node().reduceScatter(call, op, ordered, partial, nodeBlocks.columns(piece));
        }
        if (shares.total() == 0) {
            pending.add(InterNodeCalls.NOTHING);
            return;
        }
        MemorySegment result = result(piece, shares.count(topology.node()));
        Call part = InterNodeCalls.part(call, OpKind.REDUCE_SCATTER, op, partial, result, shares);
        pending.add(context.column().run(part, nodeBlocks.pieces() > 1));
    }

    private void reduceInPlace(int piece, Blocks shares, MemorySegment partial) {
        for (int node = 0; node < topology.nodeCount(); node++) {
            MemorySegment own = nodeBlocks.slice(partial, shares.offset(node), shares.count(node));
            context.node().reduceScatter(call, op, call.input(), own, nodeBlocks.sharesInPlace(node, piece));
        }
    }

    private void deliver(int piece) {
        pending.remove().await();
        if (!isShareOwn) {
            Blocks outgoing = nodeBlocks.members(piece, topology.localRank());
            MemorySegment result = result(piece, outgoing.total());
            context.node().allToAll(call, result, outgoing, call.output(), nodeBlocks.sharersInPlace(piece));
        }
    }

    private MemorySegment result(int piece, long count) {
        return isShareOwn
                ? nodeBlocks.own(call.output(), piece, nodeBlocks.pieces())
                : nodeBlocks.slice(results, piece % IN_FLIGHT * longest.count(topology.node()), count);
    }
}
