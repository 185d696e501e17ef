package io.jrun.comm.hierarchy;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;

/**
 * What the members on one node do together, over shared memory: parts of calls, numbered alike on all of them. Ranks are
 * places on the node. Confined to the group's collectives, except for messages.
 */
final class NodePlane {
    private final Backend backend;
    private final int size;
    private long sequence;
    private long begun = -1;

    NodePlane(Backend backend, int size) {
        this.backend = backend;
        this.size = size;
    }

    /** Reduces {@code data} into that of {@code root}. */
    void reduce(Call call, ReduceOp op, MemorySegment data, int root) {
        run(call, OpKind.REDUCE, op, count(call, data), root, data, data);
    }

    /** Copies the root's {@code data} to all. */
    void broadcast(Call call, MemorySegment data, int root) {
        run(call, OpKind.BROADCAST, ReduceOp.SUM, count(call, data), root, data, data);
    }

    /** Reduces {@code input}, a block for each member, into the block's owner's {@code output}. */
    void reduceScatter(Call call, ReduceOp op, MemorySegment input, MemorySegment output) {
        run(call, OpKind.REDUCE_SCATTER, op, count(call, output), 0, input, output);
    }

    /** Gathers everybody's {@code input} in everybody's {@code output}. */
    void allGather(Call call, MemorySegment input, MemorySegment output) {
        run(call, OpKind.ALL_GATHER, ReduceOp.SUM, count(call, input), 0, input, output);
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
        Call part = call.part(sequence++, kind, op, count, root, input, output);
        backend.run(call.sequence() == begun ? Patience.afterNetwork(part) : part);
        begun = call.sequence();
    }

    private static long count(Call call, MemorySegment data) {
        return data.byteSize() / call.type().sizeBytes();
    }
}
