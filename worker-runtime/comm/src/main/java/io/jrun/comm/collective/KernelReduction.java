package io.jrun.comm.collective;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.PausePoint;
import io.jrun.comm.kernel.Kernels;
import io.jrun.comm.kernel.RankOrderFold;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Reduction by the shared kernels, so that every transport computes the same bits. Native memory is used in place and
 * must stay allocated until the call returns. Heap memory passes through two blocks of native memory. Confined to one
 * thread at a time. {@link #bind} prepares the reduction for a call.
 */
public final class KernelReduction implements Reduction {
    /** The size of a block in bytes. Two blocks stay in the first-level cache. */
    private static final long BLOCK_BYTES = RankOrderFold.BLOCK_BYTES;

    private final MemorySegment left;
    private final MemorySegment right;
    private final RankOrderFold rankOrderFold;
    private final PausePoint pause;
    private @Nullable Call call;
    private int size = 1;

    /** Makes a reduction whose blocks are in {@code arena}. */
    public KernelReduction(Arena arena, PausePoint pause) {
        this.pause = pause;
        this.left = arena.allocate(BLOCK_BYTES, 64);
        this.right = arena.allocate(BLOCK_BYTES, 64);
        this.rankOrderFold =
                new RankOrderFold(arena.allocate(RankOrderFold.BLOCK_BYTES, 64).address());
    }

    /**
     * Returns the arithmetic of {@code newCall} over {@code newSize} ranks, valid until the next call of this method.
     */
    public Reduction bind(Call newCall, int newSize) {
        call = newCall;
        size = newSize;
        return this;
    }

    @Override
    public void fold(MemorySegment accumulator, MemorySegment contribution) {
        foldAll(accumulator, contribution);
        pause.reached(call(), "reduce");
    }

    private void foldAll(MemorySegment accumulator, MemorySegment contribution) {
        long bytes = accumulator.byteSize();
        if (accumulator.isNative() && contribution.isNative()) {
            combine(accumulator, contribution, bytes);
            return;
        }
        for (long at = 0; at < bytes; at += BLOCK_BYTES) {
            long length = Math.min(BLOCK_BYTES, bytes - at);
            MemorySegment.copy(accumulator, at, left, 0, length);
            MemorySegment.copy(contribution, at, right, 0, length);
            combine(left, right, length);
            MemorySegment.copy(left, 0, accumulator, at, length);
        }
    }

    @Override
    public void foldInRankOrder(MemorySegment[] contributions, MemorySegment result) {
        long[] blocks = new long[contributions.length];
        long bytes = result.byteSize();
        for (long at = 0; at < bytes; at += RankOrderFold.BLOCK_BYTES) {
            long length = Math.min(RankOrderFold.BLOCK_BYTES, bytes - at);
            for (int rank = 0; rank < contributions.length; rank++) {
                blocks[rank] = block(contributions[rank], at, length);
            }
            long target = result.isNative() ? alive(result).address() + at : right.address();
            rankOrderFold.fold(call().type(), call().op(), blocks, 0, target, length);
            if (!result.isNative()) {
                MemorySegment.copy(right, 0, result, at, length);
            }
        }
        pause.reached(call(), "reduce");
    }

    /** Returns the address of a part of a contribution, or of its copy if the contribution is in heap memory. */
    private long block(MemorySegment contribution, long at, long length) {
        if (contribution.isNative()) {
            return alive(contribution).address() + at;
        }
        MemorySegment.copy(contribution, at, left, 0, length);
        return left.address();
    }

    @Override
    public void finish(MemorySegment result) {
        if (call().op() != ReduceOp.AVG) {
            return;
        }
        long bytes = result.byteSize();
        if (result.isNative()) {
            divide(result, bytes);
            return;
        }
        for (long at = 0; at < bytes; at += BLOCK_BYTES) {
            long length = Math.min(BLOCK_BYTES, bytes - at);
            MemorySegment.copy(result, at, left, 0, length);
            divide(left, length);
            MemorySegment.copy(left, 0, result, at, length);
        }
    }

    private void combine(MemorySegment accumulator, MemorySegment contribution, long bytes) {
        DataType type = call().type();
        long count = bytes / type.sizeBytes();
        long address = alive(accumulator).address();
        Kernels.of(type, count)
                .combine(call().op(), address, alive(contribution).address(), address, count);
    }

    private void divide(MemorySegment result, long bytes) {
        DataType type = call().type();
        long count = bytes / type.sizeBytes();
        Kernels.of(type, count).divide(alive(result).address(), size, count);
    }

    private Call call() {
        Call bound = call;
        if (bound == null) {
            throw new IllegalStateException("no call is bound");
        }
        return bound;
    }

    // Kernels use plain addresses: memory that its owner has freed during a call must be an error, not a crash.
    private static MemorySegment alive(MemorySegment memory) {
        if (!memory.scope().isAlive()) {
            throw new IllegalStateException("a buffer was freed while an operation used it");
        }
        return memory;
    }
}
