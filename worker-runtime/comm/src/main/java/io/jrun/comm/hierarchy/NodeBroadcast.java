package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * Broadcast over nodes of several ranks, in pipeline chunks: the root's column carries the data to every node, and each
 * node broadcasts the data over shared memory. If the root is an extra rank, the first rank of its node is the leader
 * on the network.
 *
 * <p>Bytes on the wire: the bytes of the column's algorithm; every node receives the buffer once, independent of its
 * number of ranks.
 *
 * <p>Source: the two-level broadcast of Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize
 * collective operation performance", IPDPS 2000.
 */
final class NodeBroadcast {
    private final HierarchyContext context;
    private final Call call;
    private final int rootNode;
    private final int rootLocalRank;
    private final int leader;

    private NodeBroadcast(HierarchyContext context, Call call) {
        Topology topology = context.topology();
        this.context = context;
        this.call = call;
        this.rootNode = topology.nodeOf(call.root());
        this.rootLocalRank = topology.localRankOf(call.root());
        this.leader = topology.leaderOf(call.root());
    }

    static void run(HierarchyContext context, Call call) {
        new NodeBroadcast(context, call).run();
    }

    private void run() {
        PipelineChunks pieces = PipelineChunks.of(call.count(), call.type().sizeBytes(), context.pieceBytes(), 1);
        if (context.topology().node() != rootNode) {
            // A missing rank of this node is then reported as missing, not as waiting for the root.
            context.node().barrier(call);
        }
        if (pieces.number() == 1) {
            one(pieces.slice(call.input(), 0, 0));
        } else if (context.topology().node() == rootNode) {
            send(pieces);
        } else {
            receive(pieces);
        }
    }

    private void one(MemorySegment piece) {
        if (context.topology().node() == rootNode) {
            context.node().broadcast(call, piece, rootLocalRank);
        }
        if (isLeader()) {
            context.column().run(across(piece));
        }
        if (context.topology().node() != rootNode) {
            context.node().broadcast(call, piece, leader);
        }
    }

    private void send(PipelineChunks pieces) {
        ArrayDeque<InterNodeCalls.Pending> pending = new ArrayDeque<>();
        for (int index = 0; index < pieces.number(); index++) {
            MemorySegment piece = pieces.slice(call.input(), 0, index);
            context.node().broadcast(call, piece, rootLocalRank);
            if (isLeader()) {
                pending.add(context.column().start(across(piece)));
            }
        }
        pending.forEach(InterNodeCalls.Pending::await);
    }

    private void receive(PipelineChunks pieces) {
        ArrayDeque<InterNodeCalls.Pending> pending = new ArrayDeque<>();
        for (int index = 0; isLeader() && index < pieces.number(); index++) {
            pending.add(context.column().start(across(pieces.slice(call.input(), 0, index))));
        }
        for (int index = 0; index < pieces.number(); index++) {
            if (isLeader()) {
                pending.remove().await();
            }
            context.node().broadcast(call, pieces.slice(call.input(), 0, index), leader);
        }
    }

    private boolean isLeader() {
        return context.topology().localRank() == leader;
    }

    private Call across(MemorySegment piece) {
        return InterNodeCalls.part(call, OpKind.BROADCAST, ReduceOp.SUM, rootNode, piece);
    }
}
