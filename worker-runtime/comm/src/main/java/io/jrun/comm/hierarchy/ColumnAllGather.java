package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.Scratch;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * All-gather over nodes of any numbers of ranks, of blocks of any sizes, in place: the ranks of a node gather each other's
 * blocks; each column gathers its shares of all nodes' spans; and the ranks of a node exchange what their columns brought;
 * piece by piece. Where shares are not blocks, a node gathers all of its blocks before its shares cross.
 *
 * <p>Bytes on the wire: what the column's algorithm sends of the columns' shares; every node receives every other's span once,
 * however many ranks it has. Scratch memory: none, or two pieces if the group's ranks do not follow each other on nodes.
 *
 * <p>Source: as {@link ShardedAllReduce}, its second half.
 */
final class ColumnAllGather {
    private final HierarchyContext plane;
    private final Topology topology;
    private final Call call;
    private final NodeBlocks nodeBlocks;
    private final MemorySegment memory;
    private final ArrayDeque<InterNodeCalls.Pending> pending = new ArrayDeque<>();

    private ColumnAllGather(HierarchyContext plane, Scratch scratch, Call call) {
        this.plane = plane;
        this.topology = plane.topology();
        this.call = call;
        this.nodeBlocks = NodeBlocks.of(plane, call);
        this.memory = topology.isInOrder() ? call.output() : scratch.of(nodeBlocks.slotBytes());
    }

    static void run(HierarchyContext plane, Scratch scratch, Call call) {
        new ColumnAllGather(plane, scratch, call).run();
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
        plane.node().allGather(call, own, call.output(), nodeBlocks.membersInPlace(part, parts));
    }

    private void cross(int piece) {
        int place = topology.place();
        Blocks shares = nodeBlocks.columnInPlace(piece, place);
        if (shares.total() == 0) {
            pending.add(InterNodeCalls.NOTHING);
            return;
        }
        int node = topology.node();
        if (!topology.isInOrder()) {
            nodeBlocks.copyIn(call.output(), node, place, piece, memory, shares.offset(node));
        }
        MemorySegment own = nodeBlocks.slice(memory, shares.offset(node), shares.count(node));
        Call part = InterNodeCalls.part(call, OpKind.ALL_GATHER, ReduceOp.SUM, own, memory, shares);
        pending.add(plane.column().run(part, nodeBlocks.pieces() > 1));
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
        int place = topology.place();
        MemorySegment own = nodeBlocks.slice(memory, shares.offset(place), shares.count(place));
        plane.node().allGather(call, own, memory, shares);
        for (int sharer = 0; sharer < topology.columnCount() && !topology.isInOrder(); sharer++) {
            nodeBlocks.copyOut(memory, shares.offset(sharer), node, sharer, piece, call.output());
        }
    }
}
