package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * All-reduce over nodes of several ranks, in place: reduce-scatter inside the node, an all-reduce of each shard by its column
 * across the nodes, all-gather inside the node; piece by piece, so that the network is never idle for what happens inside.
 * A node with extra ranks reduces and gathers the shards one by one, in which all its ranks take part. A small call has one
 * shard: fewer, larger messages.
 *
 * <p>Bytes on the wire, for M nodes and S shards: what the columns' algorithm sends of 1/S of the buffer, as
 * 2(M-1)/M 1/S per rank of a column; so 2(M-1)/M of the buffer per node, however many ranks it has.
 *
 * <p>Source: the hierarchical all-reduce of Jia et al., "Highly scalable deep learning training system with mixed-precision",
 * 2018, section 4.2, with all local ranks instead of one driving the network, as Cho et al., "BlueConnect", MLSys 2019.
 */
final class ShardedAllReduce {
    /** Up to here one column carries everything: below it a message costs more than its bytes. */
    static final long ONE_SHARD_BYTES = 64 << 10;

    private final HierarchyContext plane;
    private final Call call;
    private final ReduceOp op;
    private final ArrayDeque<InterNodeCalls.Pending> pending = new ArrayDeque<>();

    private ShardedAllReduce(HierarchyContext plane, Call call) {
        this.plane = plane;
        this.call = call;
        this.op = HierarchyContext.partial(call.op());
    }

    static void run(HierarchyContext plane, Call call) {
        new ShardedAllReduce(plane, call).run();
    }

    private void run() {
        int shards = call.bytes() <= ONE_SHARD_BYTES ? 1 : plane.topology().columnCount();
        long whole = call.count() / shards * shards;
        PipelineChunks pieces = PipelineChunks.of(whole, call.type().sizeBytes(), plane.pieceBytes(), shards);
        for (int index = 0; index < pieces.number(); index++) {
            MemorySegment piece = pieces.slice(call.input(), 0, index);
            scatter(piece, shards);
            if (pieces.number() == 1) {
                crossNow(piece, shards);
                gather(piece, shards);
                break;
            }
            crossBeside(piece, shards);
            if (index > 0) {
                finish(pieces, index - 1, shards);
            }
        }
        if (pieces.number() > 1) {
            finish(pieces, pieces.number() - 1, shards);
        }
        if (whole < call.count()) {
            MemorySegment rest = PipelineChunks.of(
                            call.count() - whole, call.type().sizeBytes(), plane.pieceBytes(), 1)
                    .slice(call.input(), whole, 0);
            scatter(rest, 1);
            crossNow(rest, 1);
            gather(rest, 1);
        }
    }

    private void finish(PipelineChunks pieces, int index, int shards) {
        MemorySegment piece = pieces.slice(call.input(), 0, index);
        if (drives(shards)) {
            pending.remove().await();
            plane.finish(call, shard(piece, shards, plane.topology().place()));
        }
        gather(piece, shards);
    }

    private void scatter(MemorySegment piece, int shards) {
        if (isOneEach(shards)) {
            plane.node()
                    .reduceScatter(
                            call,
                            op,
                            piece,
                            shard(piece, shards, plane.topology().place()));
            return;
        }
        for (int shard = 0; shard < shards; shard++) {
            plane.node().reduce(call, op, shard(piece, shards, shard), shard);
        }
    }

    private void gather(MemorySegment piece, int shards) {
        if (isOneEach(shards)) {
            plane.node().allGather(call, shard(piece, shards, plane.topology().place()), piece);
            return;
        }
        for (int shard = 0; shard < shards; shard++) {
            plane.node().broadcast(call, shard(piece, shards, shard), shard);
        }
    }

    private void crossNow(MemorySegment piece, int shards) {
        if (drives(shards)) {
            MemorySegment own = shard(piece, shards, plane.topology().place());
            plane.column().run(InterNodeCalls.part(call, OpKind.ALL_REDUCE, op, 0, own));
            plane.finish(call, own);
        }
    }

    private void crossBeside(MemorySegment piece, int shards) {
        if (drives(shards)) {
            MemorySegment own = shard(piece, shards, plane.topology().place());
            pending.add(plane.column().start(InterNodeCalls.part(call, OpKind.ALL_REDUCE, op, 0, own)));
        }
    }

    private boolean drives(int shards) {
        return plane.topology().place() < shards;
    }

    private boolean isOneEach(int shards) {
        return shards == plane.node().size();
    }

    private static MemorySegment shard(MemorySegment piece, int shards, int index) {
        long bytes = piece.byteSize() / shards;
        return piece.asSlice(index * bytes, bytes);
    }
}
