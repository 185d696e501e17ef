package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The calls among the members on one node over shared memory: parts of calls, with equal numbers on all members. Ranks
 * are local ranks. Confined to the group's collectives, except for messages.
 */
final class IntraNodeCalls {
    private final Backend backend;
    private final int size;
    private long sequence;
    private long begun = -1;

    IntraNodeCalls(Backend backend, int size) {
        this.backend = backend;
        this.size = size;
    }

    /** Reduces {@code data} into the root's {@code data}. */
    void reduce(Call call, ReduceOp op, MemorySegment data, int root) {
        run(call, OpKind.REDUCE, op, count(call, data), root, data, data);
    }

    /** Reduces the {@code data} of all members into {@code result} of {@code root}, without changing {@code data}. */
    void reduceTo(Call call, ReduceOp op, MemorySegment data, MemorySegment result, int root) {
        run(call, OpKind.REDUCE_SCATTER, op, 0, data, result, allOf(root, count(call, data)), null);
    }

    /** Copies the root's {@code data} to all members. */
    void broadcast(Call call, MemorySegment data, int root) {
        run(call, OpKind.BROADCAST, ReduceOp.SUM, count(call, data), root, data, data);
    }

    /** Reduces {@code input}, which has a block for each member, into the {@code output} of the block's owner. */
    void reduceScatter(Call call, ReduceOp op, MemorySegment input, MemorySegment output) {
        run(call, OpKind.REDUCE_SCATTER, op, count(call, output), 0, input, output);
    }

    /** Does the same with blocks of any sizes. */
    void reduceScatter(Call call, ReduceOp op, MemorySegment input, MemorySegment output, Blocks blocks) {
        run(call, OpKind.REDUCE_SCATTER, op, 0, input, output, blocks, null);
    }

    /** Gathers the {@code input} of all members in the {@code output} of all members. */
    void allGather(Call call, MemorySegment input, MemorySegment output) {
        run(call, OpKind.ALL_GATHER, ReduceOp.SUM, count(call, input), 0, input, output);
    }

    /** Does the same with blocks of any sizes. */
    void allGather(Call call, MemorySegment input, MemorySegment output, Blocks blocks) {
        run(call, OpKind.ALL_GATHER, ReduceOp.SUM, 0, input, output, blocks, null);
    }

    /** Sends the blocks of {@code input} to the members, and fills {@code output} with their blocks for this member. */
    void allToAll(Call call, MemorySegment input, Blocks outgoing, MemorySegment output, Blocks incoming) {
        run(call, OpKind.ALL_TO_ALL, ReduceOp.SUM, 0, input, output, outgoing, incoming);
    }

    /** Copies the {@code data} of one member to {@code target} of another member. */
    void copy(Call call, MemorySegment data, int from, MemorySegment target, int to) {
        run(call, OpKind.SCATTER, ReduceOp.SUM, from, data, target, allOf(to, count(call, data)), null);
    }

    private Blocks allOf(int localRank, long count) {
        long[] counts = new long[size];
        counts[localRank] = count;
        return Blocks.of(counts);
    }

    void barrier(Call call) {
        run(call, OpKind.BARRIER, ReduceOp.SUM, 0, 0, MemorySegment.NULL, MemorySegment.NULL);
    }

    MemorySegment allocate(Call call) {
        return backend.allocate(call.part(
                sequence++, OpKind.ALLOCATE, ReduceOp.SUM, call.count(), 0, MemorySegment.NULL, MemorySegment.NULL));
    }

    /**
     * Runs a message to or from the member {@code localRank}. Callable from any thread, as the messages of the group.
     */
    void message(Call call, int localRank) {
        backend.run(messagePart(call, localRank));
    }

    /** Returns the envelope of the next message of the member {@code localRank}. */
    Envelope next(Call receive, int localRank) {
        return backend.next(messagePart(receive, localRank));
    }

    private static Call messagePart(Call call, int localRank) {
        return call.part(call.sequence(), call.kind(), call.op(), call.count(), localRank, call.input(), call.output());
    }

    boolean hasMessage(int localRank) {
        return backend.hasMessage(localRank);
    }

    int size() {
        return size;
    }

    private void run(
            Call call, OpKind kind, ReduceOp op, long count, int root, MemorySegment input, MemorySegment output) {
        run(call, call.part(sequence++, kind, op, count, root, input, output));
    }

    private void run(
            Call call,
            OpKind kind,
            ReduceOp op,
            int root,
            MemorySegment input,
            MemorySegment output,
            Blocks blocks,
            @Nullable Blocks incoming) {
        run(call, call.part(sequence++, kind, op, root, input, output, blocks, incoming));
    }

    private void run(Call call, Call part) {
        backend.run(call.sequence() == begun ? TimeoutOrder.afterNetwork(part) : part);
        begun = call.sequence();
    }

    private static long count(Call call, MemorySegment data) {
        return data.byteSize() / call.type().sizeBytes();
    }
}
