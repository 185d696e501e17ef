package io.jrun.comm.kernel;

import io.jrun.comm.ReduceOp;

/**
 * Element-wise arithmetic of one data type. Arguments are addresses of native memory ({@link Memory}); any alignment will
 * do. Ranges are equal or apart, never shifted against each other. Stateless.
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
}
