package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * Broadcast over nodes of several ranks: the root's column carries the data to every node, where it is spread through shared
 * memory, piece by piece. If the root is an extra rank, its node's first rank takes its place on the network.
 *
 * <p>Bytes on the wire: what the column's algorithm sends; every node receives the buffer once, however many ranks it has.
 *
 * <p>Source: the two-level broadcast of Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize
 * collective operation performance", IPDPS 2000.
 */
final class NodeBroadcast {
    private final HierarchyContext plane;
    private final Call call;
    private final int rootNode;
    private final int rootPlace;
    private final int driver;

    private NodeBroadcast(HierarchyContext plane, Call call) {
        Topology topology = plane.topology();
        this.plane = plane;
        this.call = call;
        this.rootNode = topology.nodeOf(call.root());
        this.rootPlace = topology.placeOf(call.root());
        this.driver = topology.driverOf(call.root());
    }

    static void run(HierarchyContext plane, Call call) {
        new NodeBroadcast(plane, call).run();
    }

    private void run() {
        PipelineChunks pieces = PipelineChunks.of(call.count(), call.type().sizeBytes(), plane.pieceBytes(), 1);
        if (plane.topology().node() != rootNode) {
            plane.node().barrier(call); // Who is missing here is told as missing, not as waiting for the root's node.
        }
        if (pieces.number() == 1) {
            one(pieces.slice(call.input(), 0, 0));
        } else if (plane.topology().node() == rootNode) {
            send(pieces);
        } else {
            receive(pieces);
        }
    }

    private void one(MemorySegment piece) {
        if (plane.topology().node() == rootNode) {
            plane.node().broadcast(call, piece, rootPlace);
        }
        if (drives()) {
            plane.column().run(across(piece));
        }
        if (plane.topology().node() != rootNode) {
            plane.node().broadcast(call, piece, driver);
        }
    }

    private void send(PipelineChunks pieces) {
        ArrayDeque<InterNodeCalls.Pending> pending = new ArrayDeque<>();
        for (int index = 0; index < pieces.number(); index++) {
            MemorySegment piece = pieces.slice(call.input(), 0, index);
            plane.node().broadcast(call, piece, rootPlace);
            if (drives()) {
                pending.add(plane.column().start(across(piece)));
            }
        }
        pending.forEach(InterNodeCalls.Pending::await);
    }

    private void receive(PipelineChunks pieces) {
        ArrayDeque<InterNodeCalls.Pending> pending = new ArrayDeque<>();
        for (int index = 0; drives() && index < pieces.number(); index++) {
            pending.add(plane.column().start(across(pieces.slice(call.input(), 0, index))));
        }
        for (int index = 0; index < pieces.number(); index++) {
            if (drives()) {
                pending.remove().await();
            }
            plane.node().broadcast(call, pieces.slice(call.input(), 0, index), driver);
        }
    }

    private boolean drives() {
        return plane.topology().place() == driver;
    }

    private Call across(MemorySegment piece) {
        return InterNodeCalls.part(call, OpKind.BROADCAST, ReduceOp.SUM, rootNode, piece);
    }
}
