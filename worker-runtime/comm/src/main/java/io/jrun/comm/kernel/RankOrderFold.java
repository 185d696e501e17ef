package io.jrun.comm.kernel;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;

/**
 * Reduces one contribution per rank, always in ascending rank order: {@code ((c0 op c1) op c2) ...}, then the division
 * of AVG. The bits of the result depend only on the contributions and their number. Confined to one thread at a time.
 */
public final class RankOrderFold {
    /** The block size in bytes. The running result of a block stays in the first-level cache. */
    public static final int BLOCK_BYTES = 8 << 10;

    private final long scratch;

    /**
     * Makes a fold that keeps running results at {@code scratch}.
     *
     * @param scratch address of {@link #BLOCK_BYTES} bytes of native memory
     */
    public RankOrderFold(long scratch) {
        this.scratch = scratch;
    }

    /**
     * Reduces {@code bytes <= BLOCK_BYTES} at {@code contributions[p] + offset} into {@code out}, which may be one of
     * the contributions.
     *
     * @param contributions one address per rank, for at least two ranks
     */
    public void fold(DataType type, ReduceOp op, long[] contributions, long offset, long out, long bytes) {
        long count = bytes / type.sizeBytes();
        Kernels.of(type, count).fold(op, contributions, offset, out, scratch, count);
    }

    /** Reduces the contributions of all ranks into all contributions. */
    public void foldAll(DataType type, ReduceOp op, long[] contributions, long offset, long bytes) {
        int elementBytes = type.sizeBytes();
        long count = bytes / elementBytes;
        Kernels.of(type, count).foldAll(op, contributions, offset, scratch, count, elementBytes);
    }
}
