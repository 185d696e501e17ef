package io.jrun.comm.kernel;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;

/**
 * Reduces one contribution per rank, always in ascending rank: {@code ((c0 op c1) op c2) ...}, then the division of AVG. The
 * result's bits depend on the contributions and their number only. Confined to one thread at a time.
 */
public final class RankOrderFold {
    /** Elements' bytes handled at a time, so that the running result of many ranks stays in the first-level cache. */
    public static final int BLOCK_BYTES = 8 << 10;

    private final long scratch;

    /**
     * A fold that keeps running results at {@code scratch}.
     *
     * @param scratch address of {@link #BLOCK_BYTES} bytes of native memory
     */
    public RankOrderFold(long scratch) {
        this.scratch = scratch;
    }

    /**
     * Folds {@code bytes <= BLOCK_BYTES} at {@code contributions[p] + offset} into {@code out}, which may be one of them.
     *
     * @param contributions one address per rank, of two ranks or more
     */
    public void fold(DataType type, ReduceOp op, long[] contributions, long offset, long out, long bytes) {
        Kernels.of(type).fold(op, contributions, offset, out, scratch, bytes / type.sizeBytes());
    }

    /** The same into all of them. */
    public void foldAll(DataType type, ReduceOp op, long[] contributions, long offset, long bytes) {
        int elementBytes = type.sizeBytes();
        Kernels.of(type).foldAll(op, contributions, offset, scratch, bytes / elementBytes, elementBytes);
    }
}
