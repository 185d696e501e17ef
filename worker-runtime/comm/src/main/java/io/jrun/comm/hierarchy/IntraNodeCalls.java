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
 * What the members on one node do together, over shared memory: parts of calls, numbered alike on all of them. Ranks are
 * places on the node. Confined to the group's collectives, except for messages.
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

    /** Reduces {@code data} into that of {@code root}. */
    void reduce(Call call, ReduceOp op, MemorySegment data, int root) {
        run(call, OpKind.REDUCE, op, count(call, data), root, data, data);
    }

    /** Reduces everybody's {@code data} into {@code result} of {@code root}, and leaves it as it was. */
    void reduceTo(Call call, ReduceOp op, MemorySegment data, MemorySegment result, int root) {
        run(call, OpKind.REDUCE_SCATTER, op, 0, data, result, allOf(root, count(call, data)), null);
    }

    /** Copies the root's {@code data} to all. */
    void broadcast(Call call, MemorySegment data, int root) {
        run(call, OpKind.BROADCAST, ReduceOp.SUM, count(call, data), root, data, data);
    }

    /** Reduces {@code input}, a block for each member, into the block's owner's {@code output}. */
    void reduceScatter(Call call, ReduceOp op, MemorySegment input, MemorySegment output) {
        run(call, OpKind.REDUCE_SCATTER, op, count(call, output), 0, input, output);
    }

    /** The same with blocks of any sizes. */
    void reduceScatter(Call call, ReduceOp op, MemorySegment input, MemorySegment output, Blocks blocks) {
        run(call, OpKind.REDUCE_SCATTER, op, 0, input, output, blocks, null);
    }

    /** Gathers everybody's {@code input} in everybody's {@code output}. */
    void allGather(Call call, MemorySegment input, MemorySegment output) {
        run(call, OpKind.ALL_GATHER, ReduceOp.SUM, count(call, input), 0, input, output);
    }

    /** The same with blocks of any sizes. */
    void allGather(Call call, MemorySegment input, MemorySegment output, Blocks blocks) {
        run(call, OpKind.ALL_GATHER, ReduceOp.SUM, 0, input, output, blocks, null);
    }

    /** Hands the blocks of {@code input} to their members, and fills {@code output} with what those have for this one. */
    void allToAll(Call call, MemorySegment input, Blocks outgoing, MemorySegment output, Blocks incoming) {
        run(call, OpKind.ALL_TO_ALL, ReduceOp.SUM, 0, input, output, outgoing, incoming);
    }

    /** Copies the {@code data} of one member to {@code target} of another, and nobody else's. */
    void hand(Call call, MemorySegment data, int from, MemorySegment target, int to) {
        run(call, OpKind.SCATTER, ReduceOp.SUM, from, data, target, allOf(to, count(call, data)), null);
    }

    private Blocks allOf(int place, long count) {
        long[] counts = new long[size];
        counts[place] = count;
        return Blocks.of(counts);
    }

    void barrier(Call call) {
        run(call, OpKind.BARRIER, ReduceOp.SUM, 0, 0, MemorySegment.NULL, MemorySegment.NULL);
    }

    MemorySegment allocate(Call call) {
        return backend.allocate(call.part(
                sequence++, OpKind.ALLOCATE, ReduceOp.SUM, call.count(), 0, MemorySegment.NULL, MemorySegment.NULL));
    }

    /** A message to or from the member at {@code place}. Any thread, as the group's own messages. */
    void message(Call call, int place) {
        backend.run(messagePart(call, place));
    }

    /** The next message of the member at {@code place}. */
    Envelope next(Call receive, int place) {
        return backend.next(messagePart(receive, place));
    }

    private static Call messagePart(Call call, int place) {
        return call.part(call.sequence(), call.kind(), call.op(), call.count(), place, call.input(), call.output());
    }

    boolean hasMessage(int place) {
        return backend.hasMessage(place);
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
