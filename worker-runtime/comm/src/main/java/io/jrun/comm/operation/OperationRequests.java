package io.jrun.comm.operation;

import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.Messages;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Checks the arguments of callers and passes them to a handler. An invalid argument is a USAGE error before anything is
 * sent, so that the group stays usable.
 *
 * @param groupRank group rank of the caller
 * @param size size of the group
 */
public record OperationRequests(int groupRank, int size) {
    /**
     * Handles a collective whose arguments are valid. The handler gets the parts of a {@link Call} and makes a call
     * only if the handler has to keep it. A collective that runs at once needs no call.
     */
    @FunctionalInterface
    public interface Handler<R extends @Nullable Object> {
        R handle(
                OpKind kind,
                DataType type,
                ReduceOp op,
                long count,
                int root,
                MemorySegment input,
                MemorySegment output,
                @Nullable Blocks uneven,
                @Nullable Blocks unevenIncoming);
    }

    /** The division of a buffer into blocks, and the arguments that describe the division. */
    private record Division(
            DataType type,
            long count,
            Blocks blocks,
            @Nullable Blocks uneven) {
        long bytes(int block) {
            return blocks.count(block) * type.sizeBytes();
        }

        long totalBytes() {
            return blocks.total() * type.sizeBytes();
        }

        <R extends @Nullable Object> R passTo(
                OpKind kind, ReduceOp op, int root, MemorySegment input, MemorySegment output, Handler<R> handler) {
            return handler.handle(kind, type, op, count, root, input, output, uneven, null);
        }
    }

    private Division equal(OpKind kind, DataType type, long count) {
        long _ = ArgumentChecks.blockBytes(kind, type, count, size);
        return new Division(type, count, Blocks.equal(count, size), null);
    }

    private Division uneven(OpKind kind, DataType type, long[] counts) {
        Blocks blocks = ArgumentChecks.blocks(kind, type, counts, size);
        return new Division(type, blocks.total(), blocks, blocks);
    }

    public <R extends @Nullable Object> R inPlace(
            OpKind kind, MemorySegment buffer, DataType type, long count, ReduceOp op, int root, Handler<R> handler) {
        ArgumentChecks.rank(kind, "root", root, size);
        ArgumentChecks.reducible(kind, type, op);
        ArgumentChecks.writable(kind, "data", buffer, ArgumentChecks.blockBytes(kind, type, count, 1));
        return handler.handle(kind, type, op, count, root, buffer, buffer, null, null);
    }

    /** Passes an operation without data, with {@code count} as its only number. */
    public <R extends @Nullable Object> R empty(OpKind kind, long count, Handler<R> handler) {
        return handler.handle(
                kind, DataType.I64, ReduceOp.SUM, count, 0, MemorySegment.NULL, MemorySegment.NULL, null, null);
    }

    /**
     * A send or a receive.
     *
     * @param peer the other rank; for a receive also {@link Messages#ANY_SOURCE}
     */
    public Call message(OpKind kind, MemorySegment buffer, DataType type, long count, int peer) {
        if (kind == OpKind.SEND || peer != Messages.ANY_SOURCE) {
            ArgumentChecks.rank(kind, kind == OpKind.SEND ? "destination" : "source", peer, size);
        }
        if (peer == groupRank || size == 1) {
            throw new CommException(
                    ErrorCode.USAGE,
                    kind.methodName() + ": rank " + groupRank + " is the caller itself. Copy the buffer.");
        }
        long bytes = ArgumentChecks.blockBytes(kind, type, count, 1);
        if (kind == OpKind.SEND) {
            ArgumentChecks.readable(kind, "data", buffer, bytes);
        } else {
            ArgumentChecks.writable(kind, "data", buffer, bytes);
        }
        return Call.requested(kind, type, ReduceOp.SUM, count, peer, buffer, buffer, null, null);
    }

    public <R extends @Nullable Object> R allGather(
            MemorySegment input, MemorySegment output, DataType type, long count, Handler<R> handler) {
        return allGather(input, output, equal(OpKind.ALL_GATHER, type, count), handler);
    }

    public <R extends @Nullable Object> R allGather(
            MemorySegment input, MemorySegment output, DataType type, long[] counts, Handler<R> handler) {
        return allGather(input, output, uneven(OpKind.ALL_GATHER, type, counts), handler);
    }

    private <R extends @Nullable Object> R allGather(
            MemorySegment input, MemorySegment output, Division division, Handler<R> handler) {
        OpKind kind = OpKind.ALL_GATHER;
        ArgumentChecks.readable(kind, "input", input, division.bytes(groupRank));
        ArgumentChecks.writable(kind, "output", output, division.totalBytes());
        apartOrInPlace(kind, output, input, division);
        return division.passTo(kind, ReduceOp.SUM, 0, input, output, handler);
    }

    public <R extends @Nullable Object> R reduceScatter(
            MemorySegment input, MemorySegment output, DataType type, long count, ReduceOp op, Handler<R> handler) {
        return reduceScatter(input, output, op, equal(OpKind.REDUCE_SCATTER, type, count), handler);
    }

    public <R extends @Nullable Object> R reduceScatter(
            MemorySegment input, MemorySegment output, DataType type, long[] counts, ReduceOp op, Handler<R> handler) {
        return reduceScatter(input, output, op, uneven(OpKind.REDUCE_SCATTER, type, counts), handler);
    }

    private <R extends @Nullable Object> R reduceScatter(
            MemorySegment input, MemorySegment output, ReduceOp op, Division division, Handler<R> handler) {
        OpKind kind = OpKind.REDUCE_SCATTER;
        ArgumentChecks.reducible(kind, division.type(), op);
        ArgumentChecks.readable(kind, "input", input, division.totalBytes());
        ArgumentChecks.writable(kind, "output", output, division.bytes(groupRank));
        apartOrInPlace(kind, input, output, division);
        return division.passTo(kind, op, 0, input, output, handler);
    }

    public <R extends @Nullable Object> R gather(
            MemorySegment input,
            @Nullable MemorySegment output,
            DataType type,
            long count,
            int root,
            Handler<R> handler) {
        return gather(input, output, root, equal(OpKind.GATHER, type, count), handler);
    }

    public <R extends @Nullable Object> R gather(
            MemorySegment input,
            @Nullable MemorySegment output,
            DataType type,
            long[] counts,
            int root,
            Handler<R> handler) {
        return gather(input, output, root, uneven(OpKind.GATHER, type, counts), handler);
    }

    private <R extends @Nullable Object> R gather(
            MemorySegment input, @Nullable MemorySegment output, int root, Division division, Handler<R> handler) {
        OpKind kind = OpKind.GATHER;
        ArgumentChecks.rank(kind, "root", root, size);
        ArgumentChecks.readable(kind, "input", input, division.bytes(groupRank));
        MemorySegment target = MemorySegment.NULL;
        if (groupRank == root) {
            target = output == null ? MemorySegment.NULL : output;
            ArgumentChecks.writable(kind, "output", target, division.totalBytes());
            apartOrInPlace(kind, target, input, division);
        }
        return division.passTo(kind, ReduceOp.SUM, root, input, target, handler);
    }

    public <R extends @Nullable Object> R scatter(
            @Nullable MemorySegment input,
            MemorySegment output,
            DataType type,
            long count,
            int root,
            Handler<R> handler) {
        return scatter(input, output, root, equal(OpKind.SCATTER, type, count), handler);
    }

    public <R extends @Nullable Object> R scatter(
            @Nullable MemorySegment input,
            MemorySegment output,
            DataType type,
            long[] counts,
            int root,
            Handler<R> handler) {
        return scatter(input, output, root, uneven(OpKind.SCATTER, type, counts), handler);
    }

    private <R extends @Nullable Object> R scatter(
            @Nullable MemorySegment input, MemorySegment output, int root, Division division, Handler<R> handler) {
        OpKind kind = OpKind.SCATTER;
        ArgumentChecks.rank(kind, "root", root, size);
        ArgumentChecks.writable(kind, "output", output, division.bytes(groupRank));
        MemorySegment source = MemorySegment.NULL;
        if (groupRank == root) {
            source = input == null ? MemorySegment.NULL : input;
            ArgumentChecks.readable(kind, "input", source, division.totalBytes());
            apartOrInPlace(kind, source, output, division);
        }
        return division.passTo(kind, ReduceOp.SUM, root, source, output, handler);
    }

    public <R extends @Nullable Object> R allToAll(
            MemorySegment input, MemorySegment output, DataType type, long count, Handler<R> handler) {
        Division division = equal(OpKind.ALL_TO_ALL, type, count);
        checkAllToAll(input, division, output, division);
        return division.passTo(OpKind.ALL_TO_ALL, ReduceOp.SUM, 0, input, output, handler);
    }

    public <R extends @Nullable Object> R allToAll(
            MemorySegment input,
            long[] outgoing,
            MemorySegment output,
            long[] incoming,
            DataType type,
            Handler<R> handler) {
        OpKind kind = OpKind.ALL_TO_ALL;
        Division sent = uneven(kind, type, outgoing);
        Division received = uneven(kind, type, incoming);
        if (outgoing[groupRank] != incoming[groupRank]) {
            throw new CommException(
                    ErrorCode.USAGE,
                    kind.methodName() + ": rank " + groupRank + " sends " + outgoing[groupRank]
                            + " elements to itself but expects " + incoming[groupRank]);
        }
        checkAllToAll(input, sent, output, received);
        return handler.handle(kind, type, ReduceOp.SUM, 0, 0, input, output, sent.blocks(), received.blocks());
    }

    private static void checkAllToAll(MemorySegment input, Division sent, MemorySegment output, Division received) {
        OpKind kind = OpKind.ALL_TO_ALL;
        ArgumentChecks.readable(kind, "input", input, sent.totalBytes());
        ArgumentChecks.writable(kind, "output", output, received.totalBytes());
        ArgumentChecks.apart(kind, input, sent.totalBytes(), output, received.totalBytes());
    }

    /** {@code block} may be exactly this rank's block of {@code whole}. */
    private void apartOrInPlace(OpKind kind, MemorySegment whole, MemorySegment block, Division division) {
        long offset = division.blocks().offset(groupRank) * division.type().sizeBytes();
        ArgumentChecks.apartOrInPlace(kind, whole, division.totalBytes(), block, division.bytes(groupRank), offset);
    }
}
