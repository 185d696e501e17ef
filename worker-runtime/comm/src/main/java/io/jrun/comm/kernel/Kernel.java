package io.jrun.comm.kernel;

import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;

/**
 * Element-wise arithmetic of one data type. Arguments are addresses of native memory ({@link Memory}) with any
 * alignment. Two ranges are equal or do not overlap. The type must support the operator. Stateless.
 */
public interface Kernel {
    /** {@code out[i] = a[i] op b[i]} for {@code count} elements; AVG adds, see {@link #divide}. */
    void combine(ReduceOp op, long a, long b, long out, long count);

    /**
     * Computes {@code a[i] = b[i] = a[i] op b[i]}, with AVG divided by two: an all-reduce of two ranks in one pass over
     * their memory.
     */
    void combineBoth(ReduceOp op, long a, long b, long count);

    /** Computes {@code data[i] /= divisor}: turns the sum of {@code divisor} contributions into their average. */
    void divide(long data, int divisor, long count);

    /**
     * Computes {@code data[i] *= factor} for floating point types. The factor is rounded to the type of the arithmetic.
     */
    default void scale(long data, double factor, long count) {
        throw new IllegalArgumentException("a factor for numbers that are not floating point");
    }

    /**
     * Computes {@code out[i] = ((c0[i] op c1[i]) op c2[i]) ...}, with AVG divided by the number of contributions.
     *
     * @param contributions at least two addresses; {@code offset} is added to each; one address may equal {@code out}
     * @param scratch address of memory for {@code count} elements
     */
    default void fold(ReduceOp op, long[] contributions, long offset, long out, long scratch, long count) {
        int ranks = contributions.length;
        long sum = contributions[0] + offset;
        for (int rank = 1; rank < ranks; rank++) {
            // Only the last step writes to the target, because the target may hold a contribution until then.
            long target = rank == ranks - 1 ? out : scratch;
            combine(op, sum, contributions[rank] + offset, target, count);
            sum = target;
        }
        if (op == ReduceOp.AVG) {
            divide(out, ranks, count);
        }
    }

    /** Computes {@link #fold} into every contribution: an all-reduce of all ranks in one pass over their memory. */
    default void foldAll(ReduceOp op, long[] contributions, long offset, long scratch, long count, int elementBytes) {
        long first = contributions[0] + offset;
        fold(op, contributions, offset, first, scratch, count);
        for (int rank = 1; rank < contributions.length; rank++) {
            MemorySegment.copy(Memory.ALL, first, Memory.ALL, contributions[rank] + offset, count * elementBytes);
        }
    }
}
