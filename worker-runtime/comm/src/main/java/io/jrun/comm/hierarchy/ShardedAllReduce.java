package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * All-reduce over nodes of several ranks, in place and in pipeline chunks: a reduce-scatter inside the node, an
 * all-reduce of each shard by its column across the nodes, and an all-gather inside the node. The pipeline keeps the
 * network busy during the steps inside the node. A node with extra ranks reduces and gathers the shards one by one with
 * all its ranks. A small call has one shard, which gives fewer, larger messages.
 *
 * <p>Bytes on the wire, for M nodes and S shards: the bytes of the columns' algorithm for 1/S of the buffer, such as
 * 2(M-1)/M 1/S per rank of a column; this is 2(M-1)/M of the buffer per node, independent of its number of ranks.
 *
 * <p>Source: the hierarchical all-reduce of Jia et al., "Highly scalable deep learning training system with
 * mixed-precision", 2018, section 4.2, with all local ranks instead of one driving the network, as Cho et al.,
 * "BlueConnect", MLSys 2019.
 */
final class ShardedAllReduce {
    /**
     * The largest call in bytes with one shard. For a smaller call, the fixed cost of a message exceeds the cost of its
     * bytes.
     */
    static final long ONE_SHARD_BYTES = 64 << 10;

    private final HierarchyContext context;
    private final Call call;
    private final ReduceOp op;
    private final ArrayDeque<InterNodeCalls.Pending> pending = new ArrayDeque<>();

    private ShardedAllReduce(HierarchyContext context, Call call) {
        this.context = context;
        this.call = call;
        this.op = HierarchyContext.partial(call.op());
    }

    static void run(HierarchyContext context, Call call) {
        new ShardedAllReduce(context, call).run();
    }

    private void run() {
        int shards = call.bytes() <= ONE_SHARD_BYTES ? 1 : context.topology().columnCount();
        long whole = call.count() / shards * shards;
        PipelineChunks pieces = PipelineChunks.of(whole, call.type().sizeBytes(), context.pieceBytes(), shards);
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
                            call.count() - whole, call.type().sizeBytes(), context.pieceBytes(), 1)
                    .slice(call.input(), whole, 0);
            scatter(rest, 1);
            crossNow(rest, 1);
            gather(rest, 1);
        }
    }

    private void finish(PipelineChunks pieces, int index, int shards) {
        MemorySegment piece = pieces.slice(call.input(), 0, index);
        if (isLeader(shards)) {
            pending.remove().await();
            context.finish(call, shard(piece, shards, context.topology().localRank()));
        }
        gather(piece, shards);
    }

    private void scatter(MemorySegment piece, int shards) {
        if (isOneEach(shards)) {
            context.node()
                    .reduceScatter(
                            call,
                            op,
                            piece,
                            shard(piece, shards, context.topology().localRank()));
            return;
        }
        for (int shard = 0; shard < shards; shard++) {
            context.node().reduce(call, op, shard(piece, shards, shard), shard);
        }
    }

    private void gather(MemorySegment piece, int shards) {
        if (isOneEach(shards)) {
            context.node()
                    .allGather(call, shard(piece, shards, context.topology().localRank()), piece);
            return;
        }
        for (int shard = 0; shard < shards; shard++) {
            context.node().broadcast(call, shard(piece, shards, shard), shard);
        }
    }

    private void crossNow(MemorySegment piece, int shards) {
        if (isLeader(shards)) {
            MemorySegment own = shard(piece, shards, context.topology().localRank());
            context.column().run(InterNodeCalls.part(call, OpKind.ALL_REDUCE, op, 0, own));
            context.finish(call, own);
        }
    }

    private void crossBeside(MemorySegment piece, int shards) {
        if (isLeader(shards)) {
            MemorySegment own = shard(piece, shards, context.topology().localRank());
            pending.add(context.column().start(InterNodeCalls.part(call, OpKind.ALL_REDUCE, op, 0, own)));
        }
    }

    private boolean isLeader(int shards) {
        return context.topology().localRank() < shards;
    }

    private boolean isOneEach(int shards) {
        return shards == context.node().size();
    }

    private static MemorySegment shard(MemorySegment piece, int shards, int index) {
        long bytes = piece.byteSize() / shards;
        return piece.asSlice(index * bytes, bytes);
    }
}
