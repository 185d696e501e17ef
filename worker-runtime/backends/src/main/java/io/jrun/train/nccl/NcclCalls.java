package io.jrun.train.nccl;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;

/**
 * Queues calls on a communicator and a stream. NCCL 2.18 has no functions for gather, scatter, all-to-all and blocks of
 * different sizes. This class makes such a call from one message, broadcast or reduction for each block, in one NCCL
 * group. Source: NCCL's user guide.
 */
record NcclCalls(Nccl nccl, GroupContext group) {
    /** The communicator, the stream and the memory of a call. */
    private record Target(Call call, MemorySegment in, MemorySegment out, MemorySegment comm, MemorySegment stream) {
        MemorySegment block(MemorySegment whole, Blocks blocks, int rank) {
            int size = call.type().sizeBytes();
            return whole.asSlice(blocks.offset(rank) * size, blocks.count(rank) * size);
        }
    }

    /** Throws if NCCL lacks the type or the reduction of the call. */
    static void check(Call call) {
        int _ = call.kind().reduces() ? NcclTypes.op(call) : 0;
    }

    void launch(Call call, MemorySegment in, MemorySegment out, MemorySegment comm, MemorySegment stream) {
        Target target = new Target(call, in, out, comm, stream);
        int type = NcclTypes.type(call.type());
        int op = call.kind().reduces() ? NcclTypes.op(call) : 0;
        long count = call.count();
        int root = call.root();
        boolean isUneven = call.uneven() != null;
        switch (call.kind()) {
            case ALL_REDUCE -> nccl.allReduce(in, out, count, type, op, comm, stream);
            case BROADCAST -> nccl.broadcast(in, out, count, type, root, comm, stream);
            case REDUCE -> nccl.reduce(in, out, count, type, op, root, comm, stream);
            case ALL_GATHER -> {
                if (isUneven) {
                    nccl.together(() -> gatherBlocks(target, type));
                } else {
                    nccl.allGather(in, out, count, type, comm, stream);
                }
            }
            case REDUCE_SCATTER -> {
                if (isUneven) {
                    nccl.together(() -> reduceBlocks(target, type, op));
                } else {
                    nccl.reduceScatter(in, out, count, type, op, comm, stream);
                }
            }
            case GATHER, SCATTER, ALL_TO_ALL -> nccl.together(() -> sendBlocks(target, type));
            default ->
                throw new CommException(
                        ErrorCode.USAGE,
                        call.describe() + ": the nccl backend does not have this operation. Use another backend.");
        }
    }

    private void gatherBlocks(Target target, int type) {
        Blocks blocks = target.call().blocks(group.size());
        for (int rank = 0; rank < group.size(); rank++) {
            MemorySegment to = target.block(target.out(), blocks, rank);
            MemorySegment from = rank == group.groupRank() ? target.in() : to;
            nccl.broadcast(from, to, blocks.count(rank), type, rank, target.comm(), target.stream());
        }
    }

    private void reduceBlocks(Target target, int type, int op) {
        Blocks blocks = target.call().blocks(group.size());
        for (int rank = 0; rank < group.size(); rank++) {
            MemorySegment from = target.block(target.in(), blocks, rank);
            nccl.reduce(from, target.out(), blocks.count(rank), type, op, rank, target.comm(), target.stream());
        }
    }

    private void sendBlocks(Target target, int type) {
        Call call = target.call();
        boolean isRoot = group.groupRank() == call.root();
        boolean all = call.kind() == OpKind.ALL_TO_ALL;
        boolean gather = call.kind() == OpKind.GATHER;
        Blocks outgoing = call.blocks(group.size());
        Blocks incoming = call.incoming(group.size());
        for (int peer = 0; peer < group.size(); peer++) {
            if (all || (gather ? peer == call.root() : isRoot)) {
                int mine = gather ? group.groupRank() : peer;
                MemorySegment from = gather ? target.in() : target.block(target.in(), outgoing, peer);
                nccl.send(from, outgoing.count(mine), type, peer, target.comm(), target.stream());
            }
            if (all || (gather ? isRoot : peer == call.root())) {
                int theirs = all || gather ? peer : group.groupRank();
                MemorySegment to = all || gather ? target.block(target.out(), incoming, peer) : target.out();
                nccl.receive(to, incoming.count(theirs), type, peer, target.comm(), target.stream());
            }
        }
    }
}
