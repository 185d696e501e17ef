package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.Scratch;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * All-gather over nodes of any numbers of ranks, of blocks of any sizes, in place and in pipeline chunks: the ranks
 * of a node gather each other's blocks, each column gathers its shares of the spans of all nodes, and the ranks of a
 * node exchange the shares of their columns. If shares are not blocks, a node gathers all of its blocks before the
 * inter-node step.
 *
 * <p>Bytes on the wire: the bytes of the column's algorithm for the columns' shares; every node receives the span of
 * every other node once, independent of its number of ranks. Scratch memory: none, or two chunks if the group ranks are
 * not contiguous on nodes.
 *
 * <p>Source: the second half of {@link ShardedAllReduce}.
 */
final class ColumnAllGather {
    private final HierarchyContext context;
    private final Topology topology;
    private final Call call;
    private final NodeBlocks nodeBlocks;
    private final MemorySegment memory;
    private final ArrayDeque<InterNodeCalls.Pending> pending = new ArrayDeque<>();

    private ColumnAllGather(HierarchyContext context, Scratch scratch, Call call) {
        this.context = context;
        this.topology = context.topology();
        this.call = call;
        this.nodeBlocks = NodeBlocks.of(context, call);
        this.memory = topology.isInOrder() ? call.output() : scratch.of(nodeBlocks.slotBytes());
    }

    static void run(HierarchyContext context, Scratch scratch, Call call) {
        new ColumnAllGather(context, scratch, call).run();
    }

    private void run() {
        boolean isShareOwn = nodeBlocks.isShareOwn();
        for (int piece = 0; piece < nodeBlocks.pieces(); piece++) {
            if (isShareOwn) {
                gather(piece, nodeBlocks.pieces());
            } else if (piece == 0) {
                gather(0, 1);
            }
            cross(piece);
            if (piece > 0) {
                spread(piece - 1);
            }
        }
        spread(nodeBlocks.pieces() - 1);
    }

    private void gather(int part, int parts) {
        MemorySegment own = nodeBlocks.own(call.input(), part, parts);
        context.node().allGather(call, own, call.output(), nodeBlocks.membersInPlace(part, parts));
    }

    private void cross(int piece) {
        int localRank = topology.localRank();
        Blocks shares = nodeBlocks.columnInPlace(piece, localRank);
        if (shares.total() == 0) {
            pending.add(InterNodeCalls.NOTHING);
            return;
        }
        int node = topology.node();
        if (!topology.isInOrder()) {
            nodeBlocks.copyIn(call.output(), node, localRank, piece, memory, shares.offset(node));
        }
        MemorySegment own = nodeBlocks.slice(memory, shares.offset(node), shares.count(node));
        Call part = InterNodeCalls.part(call, OpKind.ALL_GATHER, ReduceOp.SUM, own, memory, shares);
        pending.add(context.column().run(part, nodeBlocks.pieces() > 1));
    }

    private void spread(int piece) {
        pending.remove().await();
        for (int node = 0; node < topology.nodeCount(); node++) {
            if (node != topology.node()) {
                spread(piece, node);
            }
        }
    }

    private void spread(int piece, int node) {
        Blocks shares = nodeBlocks.sharesInPlace(node, piece);
        int localRank = topology.localRank();
        MemorySegment own = nodeBlocks.slice(memory, shares.offset(localRank), shares.count(localRank));
        context.node().allGather(call, own, memory, shares);
        for (int sharer = 0; sharer < topology.columnCount() && !topology.isInOrder(); sharer++) {
            nodeBlocks.copyOut(memory, shares.offset(sharer), node, sharer, piece, call.output());
        }
    }
}
