package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.Scratch;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * Reduce over nodes of several ranks: each node reduces into scratch memory of its member of the root's column, which reduces
 * across the nodes into the root's buffer; piece by piece. If the root is an extra rank, its node's first rank takes its place
 * on the network and hands it the results.
 *
 * <p>Bytes on the wire: what the column's algorithm sends; every node but the root's sends the buffer once, however many
 * ranks it has. Scratch memory: two pieces.
 *
 * <p>Source: the two-level reduce of Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize
 * collective operation performance", IPDPS 2000.
 */
final class NodeReduce {
    private static final int IN_FLIGHT = 2;

    /** Up to here the driver folds alone, straight from all buffers; more ranks fold a share each, which its copy pays for. */
    private static final int RANKS_FOLDED_BY_ONE = 2;

    private final HierarchyContext plane;
    private final Topology topology;
    private final Call call;
    private final ReduceOp op;
    private final PipelineChunks pieces;
    private final int rootNode;
    private final int rootPlace;
    private final int driver;
    /** Whether the driver may overwrite what it contributes: the buffer of the root. */
    private final boolean isInPlace;

    private final MemorySegment slots;
    private final ArrayDeque<InterNodeCalls.Pending> pending = new ArrayDeque<>();

    private NodeReduce(HierarchyContext plane, Scratch scratch, Call call) {
        this.plane = plane;
        this.topology = plane.topology();
        this.call = call;
        this.op = HierarchyContext.partial(call.op());
        this.pieces = PipelineChunks.of(call.count(), call.type().sizeBytes(), plane.pieceBytes(), 1);
        this.rootNode = topology.nodeOf(call.root());
        this.rootPlace = topology.placeOf(call.root());
        this.driver = topology.driverOf(call.root());
        this.isInPlace = topology.local().get(driver) == call.root();
        this.slots = drives() && !isInPlace ? scratch.of(IN_FLIGHT * slotBytes()) : MemorySegment.NULL;
    }

    static void run(HierarchyContext plane, Scratch scratch, Call call) {
        new NodeReduce(plane, scratch, call).run();
    }

    private void run() {
        for (int piece = 0; piece < pieces.number(); piece++) {
            reduce(piece);
            if (piece > 0) {
                deliver(piece - 1);
            }
        }
        deliver(pieces.number() - 1);
        if (topology.rank() == call.root()) {
            plane.finish(call, call.input().asSlice(0, call.bytes()));
        }
    }

    private void reduce(int piece) {
        MemorySegment buffer = buffer(piece);
        MemorySegment data = data(piece);
        if (!isInPlace && topology.local().size() <= RANKS_FOLDED_BY_ONE) {
            plane.node().reduceTo(call, op, buffer, data, driver);
        } else {
            if (drives() && !isInPlace) {
                data.copyFrom(buffer);
            }
            plane.node().reduce(call, op, data, driver);
        }
        if (drives()) {
            Call part = InterNodeCalls.part(call, OpKind.REDUCE, op, rootNode, data);
            pending.add(plane.column().run(part, pieces.number() > 1));
        }
    }

    private void deliver(int piece) {
        if (drives()) {
            pending.remove().await();
        }
        if (topology.node() == rootNode && rootPlace != driver) {
            plane.node().hand(call, data(piece), driver, buffer(piece), rootPlace);
        }
    }

    private boolean drives() {
        return topology.place() == driver;
    }

    /** What the node has reduced of a piece, at its driver; results too come there. */
    private MemorySegment data(int piece) {
        MemorySegment buffer = buffer(piece);
        return drives() && !isInPlace ? slots.asSlice(piece % IN_FLIGHT * slotBytes(), buffer.byteSize()) : buffer;
    }

    private MemorySegment buffer(int piece) {
        return pieces.slice(call.input(), 0, piece);
    }

    private long slotBytes() {
        return pieces.count(0) * pieces.elementBytes();
    }
}
