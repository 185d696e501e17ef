package io.jrun.comm.kernel;

import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;

/**
 * Element-wise arithmetic of one data type. Arguments are addresses of native memory ({@link Memory}); any alignment will
 * do. Ranges are equal or apart, never shifted against each other. Operators are ones that the type supports. Stateless.
 */
public interface Kernel {
    /** {@code out[i] = a[i] op b[i]} for {@code count} elements; AVG adds, see {@link #divide}. */
    void combine(ReduceOp op, long a, long b, long out, long count);

    /**
     * {@code a[i] = b[i] = a[i] op b[i]}, with AVG divided by two: what two ranks need, in one pass over their memory.
     */
    void combineBoth(ReduceOp op, long a, long b, long count);

    /** {@code data[i] /= divisor}: turns the sum of so many contributions into their average. */
    void divide(long data, int divisor, long count);

    /** {@code data[i] *= factor}, of floating point types; the factor is rounded to the type that arithmetic is done in. */
    default void scale(long data, double factor, long count) {
        throw new IllegalArgumentException("a factor for numbers that are not floating point");
    }

    /**
     * {@code out[i] = ((c0[i] op c1[i]) op c2[i]) ...}, with AVG divided by their number.
     *
     * @param contributions two addresses or more, to each of which {@code offset} is added; one may equal {@code out}
     * @param scratch address of room for {@code count} elements
     */
    default void fold(ReduceOp op, long[] contributions, long offset, long out, long scratch, long count) {
        int ranks = contributions.length;
        long sum = contributions[0] + offset;
        for (int rank = 1; rank < ranks; rank++) {
            // The last step alone writes to the target: before, that may still hold a contribution.
            long target = rank == ranks - 1 ? out : scratch;
            combine(op, sum, contributions[rank] + offset, target, count);
            sum = target;
        }
        if (op == ReduceOp.AVG) {
            divide(out, ranks, count);
        }
    }

    /** {@link #fold} into every contribution: what all ranks need, in one pass over their memory. */
    default void foldAll(ReduceOp op, long[] contributions, long offset, long scratch, long count, int elementBytes) {
        long first = contributions[0] + offset;
        fold(op, contributions, offset, first, scratch, count);
        for (int rank = 1; rank < contributions.length; rank++) {
            MemorySegment.copy(Memory.ALL, first, Memory.ALL, contributions[rank] + offset, count * elementBytes);
        }
    }
}
