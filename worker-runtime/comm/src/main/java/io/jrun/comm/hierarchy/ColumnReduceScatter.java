package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.Scratch;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.List;

/**
 * Reduce-scatter over nodes of equally many ranks: inside the node each rank gets the partial results of its column's blocks,
 * which the column then reduces and scatters across the nodes; piece by piece.
 *
 * <p>Bytes on the wire per rank, for M nodes of L ranks: (M-1) blocks, so (M-1) L blocks per node, where a flat ring sends
 * M L - 1 over each node's link. Scratch memory: a piece, brought into the order of the columns, and two of its parts.
 *
 * <p>Source: as {@link ShardedAllReduce}, its first half.
 */
final class ColumnReduceScatter {
    private static final int IN_FLIGHT = 2;

    private ColumnReduceScatter() {}

    static void run(Plane plane, Scratch scratch, Call call) {
        ReduceOp op = Plane.partial(call.op());
        List<List<Integer>> nodes = plane.topology().nodes();
        int places = plane.node().size();
        int elementBytes = call.type().sizeBytes();
        Pieces pieces = Pieces.of(call.count(), elementBytes, Math.max(elementBytes, Pieces.BYTES / plane.size()), 1);
        long longest = pieces.count(0) * elementBytes;
        MemorySegment memory = scratch.of(longest * (plane.size() + IN_FLIGHT * nodes.size()));
        ArrayDeque<ColumnPlane.Pending> pending = new ArrayDeque<>();
        for (int index = 0; index < pieces.number(); index++) {
            long length = pieces.count(index) * elementBytes;
            MemorySegment ordered = memory.asSlice(0, length * plane.size());
            for (int node = 0; node < nodes.size(); node++) {
                for (int place = 0; place < places; place++) {
                    long block = nodes.get(node).get(place) * call.count();
                    long target = ((long) place * nodes.size() + node) * length;
                    ordered.asSlice(target, length).copyFrom(pieces.slice(call.input(), block, index));
                }
            }
            if (pending.size() == IN_FLIGHT) {
                pending.remove().await();
            }
            long slot = longest * (plane.size() + (long) index % IN_FLIGHT * nodes.size());
            MemorySegment partial = memory.asSlice(slot, length * nodes.size());
            plane.node().reduceScatter(call, op, ordered, partial);
            MemorySegment result = pieces.slice(call.output(), 0, index);
            Call part = ColumnPlane.part(call, OpKind.REDUCE_SCATTER, op, 0, partial, result);
            if (pieces.number() == 1) {
                plane.column().run(part);
            } else {
                pending.add(plane.column().start(part));
            }
        }
        pending.forEach(ColumnPlane.Pending::await);
        plane.finish(call, call.output().asSlice(0, call.bytes()));
    }
}
