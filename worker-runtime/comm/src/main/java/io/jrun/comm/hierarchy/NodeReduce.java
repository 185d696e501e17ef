package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.Scratch;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * Reduce over nodes of several ranks to a root that is in a column: each node reduces into scratch memory of its member of
 * that column, which reduces across the nodes into the root's buffer; piece by piece.
 *
 * <p>Bytes on the wire: what the column's algorithm sends; every node but the root's sends the buffer once, however many
 * ranks it has. Scratch memory: two pieces.
 *
 * <p>Source: the two-level reduce of Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize
 * collective operation performance", IPDPS 2000.
 */
final class NodeReduce {
    private static final int IN_FLIGHT = 2;

    private final Plane plane;
    private final Scratch scratch;
    private final Call call;
    private final ReduceOp op;
    private final int rootNode;
    private final int driver;
    private final ArrayDeque<ColumnPlane.Pending> pending = new ArrayDeque<>();

    private NodeReduce(Plane plane, Scratch scratch, Call call) {
        this.plane = plane;
        this.scratch = scratch;
        this.call = call;
        this.op = Plane.partial(call.op());
        this.rootNode = plane.topology().nodeOf(call.root());
        this.driver = plane.topology().placeOf(call.root());
    }

    static void run(Plane plane, Scratch scratch, Call call) {
        new NodeReduce(plane, scratch, call).run();
    }

    private void run() {
        Pieces pieces = Pieces.of(call.count(), call.type().sizeBytes(), Pieces.BYTES, 1);
        long slot = pieces.count(0) * pieces.elementBytes();
        boolean isDriver = plane.topology().place() == driver;
        boolean isRoot = isDriver && plane.topology().node() == rootNode;
        MemorySegment slots =
                isDriver && !isRoot ? scratch.of(slot * Math.min(IN_FLIGHT, pieces.number())) : MemorySegment.NULL;
        for (int index = 0; index < pieces.number(); index++) {
            MemorySegment piece = pieces.slice(call.input(), 0, index);
            if (isDriver && pending.size() == IN_FLIGHT) {
                pending.remove().await();
            }
            if (isDriver && !isRoot) {
                piece = slots.asSlice(index % IN_FLIGHT * slot, piece.byteSize())
                        .copyFrom(piece);
            }
            plane.node().reduce(call, op, piece, driver);
            if (isDriver) {
                cross(ColumnPlane.part(call, OpKind.REDUCE, op, rootNode, piece, piece), pieces.number());
            }
        }
        pending.forEach(ColumnPlane.Pending::await);
        if (isRoot) {
            plane.finish(call, call.input().asSlice(0, call.bytes()));
        }
    }

    private void cross(Call part, int pieces) {
        if (pieces == 1) {
            plane.column().run(part);
        } else {
            pending.add(plane.column().start(part));
        }
    }
}
