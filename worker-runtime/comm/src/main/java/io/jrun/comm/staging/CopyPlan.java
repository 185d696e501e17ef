package io.jrun.comm.staging;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Blocks;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The division of an operation on device memory into steps that fit a slot of host memory. Step {@code s} has the
 * elements from {@code s * elements} on of each block of the buffers. All ranks therefore agree on the steps, unless
 * each rank divides its data in its own way (uneven all-to-all). Immutable.
 */
final class CopyPlan {
    private static final long ALIGNMENT = 64;

    /**
     * One buffer of the operation.
     *
     * @param memory device memory
     * @param blocks blocks of the buffer
     * @param isCopied whether the elements travel between the device and the slot on this rank
     */
    private record Side(MemorySegment memory, Blocks blocks, boolean isCopied) {}

    /** Queues a copy between device memory and host memory of the same size. */
    @FunctionalInterface
    interface Copier {
        void copy(MemorySegment device, MemorySegment host);
    }

    private final Call request;
    private final Side input;
    private final Side output;
    private final long elements;
    private final int steps;

    /**
     * Makes the plan of a collective.
     *
     * @param size number of ranks
     * @param rank group rank of this rank
     * @param slotBytes bytes of a slot, equal on all ranks
     */
    CopyPlan(Call request, int size, int rank, long slotBytes) {
        this.request = request;
        OpKind kind = request.kind();
        boolean isRoot = rank == request.root();
        Blocks whole = request.blocks(size);
        Blocks own = kind.isInPlace() ? Blocks.equal(request.count(), 1) : Blocks.equal(whole.count(rank), 1);
        boolean readsAll = kind == OpKind.REDUCE_SCATTER || kind == OpKind.SCATTER || kind == OpKind.ALL_TO_ALL;
        boolean writesAll = kind == OpKind.ALL_GATHER || kind == OpKind.GATHER || kind == OpKind.ALL_TO_ALL;
        boolean isRead = isRoot || (kind != OpKind.BROADCAST && kind != OpKind.SCATTER);
        boolean isWritten =
                kind == OpKind.BROADCAST ? !isRoot : isRoot || (kind != OpKind.REDUCE && kind != OpKind.GATHER);
        this.input = new Side(request.input(), readsAll ? whole : own, isRead);
        this.output = new Side(request.output(), writesAll ? request.incoming(size) : own, isWritten);
        int rows =
                kind.isInPlace() ? 1 : input.blocks().parts() + output.blocks().parts();
        this.elements = Math.max(1, (slotBytes - ALIGNMENT) / request.type().sizeBytes() / rows);
        long longest = kind.isInPlace()
                ? request.count()
                : Math.max(whole.longest(), request.incoming(size).longest());
        this.steps = Math.toIntExact(Math.max(1, Math.ceilDiv(longest, elements)));
    }

    /** Number of steps of this rank. */
    int steps() {
        return steps;
    }

    /** Whether the other ranks may have another number of steps. */
    boolean hasOwnSteps() {
        return request.unevenIncoming() != null;
    }

    /** Passes the copies of a step from the device to {@code slot}. */
    void copyIn(int step, MemorySegment slot, Copier copier) {
        copy(input, step, slot, copier);
    }

    /** Passes the copies of a step from {@code slot} to the device. */
    void copyOut(int step, MemorySegment slot, Copier copier) {
        copy(output, step, outputRegion(step, slot), copier);
    }

    private void copy(Side side, int step, MemorySegment region, Copier copier) {
        if (!side.isCopied()) {
            return;
        }
        int size = request.type().sizeBytes();
        long at = 0;
        for (int block = 0; block < side.blocks().parts(); block++) {
            long bytes = count(side.blocks(), block, step) * size;
            if (bytes > 0) {
                long from = (side.blocks().offset(block) + step * elements) * size;
                copier.copy(side.memory().asSlice(from, bytes), region.asSlice(at, bytes));
                at += bytes;
            }
        }
    }

    /**
     * Returns the call of a step in host memory.
     *
     * @param call the operation with its sequence and deadline; it may have another element type than the request
     */
    Call call(Call call, int step, long sequence, MemorySegment slot) {
        boolean isInPlace = request.kind().isInPlace();
        MemorySegment in = isInPlace || input.isCopied() ? slot : MemorySegment.NULL;
        MemorySegment out = isInPlace ? slot : output.isCopied() ? outputRegion(step, slot) : MemorySegment.NULL;
        Blocks uneven = step(request.uneven(), step);
        Blocks incoming = step(request.unevenIncoming(), step);
        long count = incoming != null ? 0 : uneven != null ? uneven.total() : count(request.count(), step);
        ReduceOp op = request.op();
        return new Call(
                sequence,
                call.kind(),
                call.type(),
                op,
                count,
                call.root(),
                in,
                out,
                call.deadline(),
                uneven,
                incoming,
                call.label(),
                null);
    }

    private MemorySegment outputRegion(int step, MemorySegment slot) {
        if (request.kind().isInPlace() || !input.isCopied()) {
            return slot;
        }
        long bytes = IntStream.range(0, input.blocks().parts())
                        .mapToLong(block -> count(input.blocks(), block, step))
                        .sum()
                * request.type().sizeBytes();
        return slot.asSlice(Math.ceilDiv(bytes, ALIGNMENT) * ALIGNMENT);
    }

    private @Nullable Blocks step(@Nullable Blocks blocks, int step) {
        return blocks == null
                ? null
                : Blocks.of(IntStream.range(0, blocks.parts())
                        .mapToLong(block -> count(blocks, block, step))
                        .toArray());
    }

    private long count(Blocks blocks, int block, int step) {
        return count(blocks.count(block), step);
    }

    private long count(long all, int step) {
        return Math.clamp(all - step * elements, 0, elements);
    }
}
