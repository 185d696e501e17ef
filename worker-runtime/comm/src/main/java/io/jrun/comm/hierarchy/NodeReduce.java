package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.backend.Scratch;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * Reduce over nodes of several ranks, in pipeline chunks: each node reduces into scratch memory of its member of the
 * root's column, and the column reduces across the nodes into the root's buffer. If the root is an extra rank, the
 * first rank of its node is the leader on the network and copies the results to the root.
 *
 * <p>Bytes on the wire: the bytes of the column's algorithm; every node but the root's sends the buffer once,
 * independent of its number of ranks. Scratch memory: two chunks.
 *
 * <p>Source: the two-level reduce of Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize
 * collective operation performance", IPDPS 2000.
 */
final class NodeReduce {
    private static final int IN_FLIGHT = 2;

    /**
     * The largest number of ranks for which the leader reduces alone from all buffers. More ranks reduce one share
     * each.
     */
    private static final int RANKS_REDUCED_BY_ONE = 2;

    private final HierarchyContext context;
    private final Topology topology;
    private final Call call;
    private final ReduceOp op;
    private final PipelineChunks pieces;
    private final int rootNode;
    private final int rootLocalRank;
    private final int leader;
    /** Whether the leader may overwrite its contribution, because its buffer is the buffer of the root. */
    private final boolean isInPlace;

    private final MemorySegment slots;
    private final ArrayDeque<InterNodeCalls.Pending> pending = new ArrayDeque<>();

    private NodeReduce(HierarchyContext context, Scratch scratch, Call call) {
        this.context = context;
        this.topology = context.topology();
        this.call = call;
        this.op = HierarchyContext.partial(call.op());
        this.pieces = PipelineChunks.of(call.count(), call.type().sizeBytes(), context.pieceBytes(), 1);
        this.rootNode = topology.nodeOf(call.root());
        this.rootLocalRank = topology.localRankOf(call.root());
        this.leader = topology.leaderOf(call.root());
        this.isInPlace = topology.local().get(leader) == call.root();
        this.slots = isLeader() && !isInPlace ? scratch.of(IN_FLIGHT * slotBytes()) : MemorySegment.NULL;
    }

    static void run(HierarchyContext context, Scratch scratch, Call call) {
        new NodeReduce(context, scratch, call).run();
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
            context.finish(call, call.input().asSlice(0, call.bytes()));
        }
    }

    private void reduce(int piece) {
        MemorySegment buffer = buffer(piece);
        MemorySegment data = data(piece);
        if (!isInPlace && topology.local().size() <= RANKS_REDUCED_BY_ONE) {
            context.node().reduceTo(call, op, buffer, data, leader);
        } else {
            if (isLeader() && !isInPlace) {
                data.copyFrom(buffer);
            }
            context.node().reduce(call, op, data, leader);
        }
        if (isLeader()) {
            Call part = InterNodeCalls.part(call, OpKind.REDUCE, op, rootNode, data);
            pending.add(context.column().run(part, pieces.number() > 1));
        }
    }

    private void deliver(int piece) {
        if (isLeader()) {
            pending.remove().await();
        }
        if (topology.node() == rootNode && rootLocalRank != leader) {
            context.node().copy(call, data(piece), leader, buffer(piece), rootLocalRank);
        }
    }

    private boolean isLeader() {
        return topology.localRank() == leader;
    }

    /**
     * Returns the memory of the node's partial result of a piece at its leader. The results arrive in the same memory.
     */
    private MemorySegment data(int piece) {
        MemorySegment buffer = buffer(piece);
        return isLeader() && !isInPlace ? slots.asSlice(piece % IN_FLIGHT * slotBytes(), buffer.byteSize()) : buffer;
    }

    private MemorySegment buffer(int piece) {
        return pieces.slice(call.input(), 0, piece);
    }

    private long slotBytes() {
        return pieces.count(0) * pieces.elementBytes();
    }
}
