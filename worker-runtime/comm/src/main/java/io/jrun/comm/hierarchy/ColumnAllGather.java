package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.Scratch;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.List;

/**
 * All-gather over nodes of equally many ranks: each column gathers its blocks across the nodes, then the node's ranks
 * exchange what their columns brought; piece by piece.
 *
 * <p>Bytes on the wire per rank, for M nodes of L ranks: (M-1) blocks, so (M-1) L blocks per node, where a flat ring sends
 * M L - 1 over each node's link. Scratch memory: two parts of a piece, and a piece in the order of the columns.
 *
 * <p>Source: as {@link ShardedAllReduce}, its second half.
 */
final class ColumnAllGather {
    private static final int IN_FLIGHT = 2;

    private final Plane plane;
    private final Call call;
    private final Pieces pieces;
    private final MemorySegment memory;
    private final long longest;
    private final List<List<Integer>> nodes;

    private ColumnAllGather(Plane plane, Scratch scratch, Call call) {
        int elementBytes = call.type().sizeBytes();
        this.plane = plane;
        this.call = call;
        this.nodes = plane.topology().nodes();
        this.pieces = Pieces.of(call.count(), elementBytes, Math.max(elementBytes, Pieces.BYTES / plane.size()), 1);
        this.longest = pieces.count(0) * elementBytes;
        this.memory = scratch.of(longest * (plane.size() + IN_FLIGHT * nodes.size()));
    }

    static void run(Plane plane, Scratch scratch, Call call) {
        new ColumnAllGather(plane, scratch, call).run();
    }

    private void run() {
        plane.node().barrier(call); // Who is missing here is told as missing, not as waiting for another node.
        if (pieces.number() == 1) {
            plane.column().run(across(0));
            spread(0);
            return;
        }
        ArrayDeque<ColumnPlane.Pending> pending = new ArrayDeque<>();
        for (int index = 0; index < pieces.number(); index++) {
            // The place of the piece before last is free: it was spread in the last turn.
            pending.add(plane.column().start(across(index)));
            if (index > 0) {
                pending.remove().await();
                spread(index - 1);
            }
        }
        pending.remove().await();
        spread(pieces.number() - 1);
    }

    private Call across(int index) {
        MemorySegment own = pieces.slice(call.input(), 0, index);
        return ColumnPlane.part(call, OpKind.ALL_GATHER, ReduceOp.SUM, 0, own, gathered(index));
    }

    private void spread(int index) {
        long length = pieces.count(index) * pieces.elementBytes();
        MemorySegment ordered = memory.asSlice(0, length * plane.size());
        plane.node().allGather(call, gathered(index), ordered);
        for (int node = 0; node < nodes.size(); node++) {
            for (int place = 0; place < plane.node().size(); place++) {
                long block = nodes.get(node).get(place) * call.count();
                long source = ((long) place * nodes.size() + node) * length;
                pieces.slice(call.output(), block, index).copyFrom(ordered.asSlice(source, length));
            }
        }
    }

    private MemorySegment gathered(int index) {
        long slot = longest * (plane.size() + (long) index % IN_FLIGHT * nodes.size());
        return memory.asSlice(slot, pieces.count(index) * pieces.elementBytes() * nodes.size());
    }
}
