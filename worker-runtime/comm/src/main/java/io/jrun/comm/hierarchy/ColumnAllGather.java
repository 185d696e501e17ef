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
    private final Plane plane;
    private final Topology topology;
    private final Call call;
    private final Spans spans;
    private final MemorySegment memory;
    private final ArrayDeque<ColumnPlane.Pending> pending = new ArrayDeque<>();

    private ColumnAllGather(Plane plane, Scratch scratch, Call call) {
        this.plane = plane;
        this.topology = plane.topology();
        this.call = call;
        this.spans = Spans.of(plane, call);
        this.memory = topology.isInOrder() ? call.output() : scratch.of(spans.slotBytes());
    }

    static void run(Plane plane, Scratch scratch, Call call) {
        new ColumnAllGather(plane, scratch, call).run();
    }

    private void run() {
        boolean isShareOwn = spans.isShareOwn();
        for (int piece = 0; piece < spans.pieces(); piece++) {
            if (isShareOwn) {
                gather(piece, spans.pieces());
            } else if (piece == 0) {
                gather(0, 1);
            }
            cross(piece);
            if (piece > 0) {
                spread(piece - 1);
            }
        }
        spread(spans.pieces() - 1);
    }

    private void gather(int part, int parts) {
        MemorySegment own = spans.own(call.input(), part, parts);
        plane.node().allGather(call, own, call.output(), spans.membersInPlace(part, parts));
    }

    private void cross(int piece) {
        int place = topology.place();
        Blocks shares = spans.columnInPlace(piece, place);
        if (shares.total() == 0) {
            pending.add(ColumnPlane.NOTHING);
            return;
        }
        int node = topology.node();
        if (!topology.isInOrder()) {
            spans.copyIn(call.output(), node, place, piece, memory, shares.offset(node));
        }
        MemorySegment own = spans.slice(memory, shares.offset(node), shares.count(node));
        Call part = ColumnPlane.part(call, OpKind.ALL_GATHER, ReduceOp.SUM, own, memory, shares);
        pending.add(plane.column().run(part, spans.pieces() > 1));
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
        Blocks shares = spans.sharesInPlace(node, piece);
        int place = topology.place();
        MemorySegment own = spans.slice(memory, shares.offset(place), shares.count(place));
        plane.node().allGather(call, own, memory, shares);
        for (int sharer = 0; sharer < topology.columnCount() && !topology.isInOrder(); sharer++) {
            spans.copyOut(memory, shares.offset(sharer), node, sharer, piece, call.output());
        }
    }
}
