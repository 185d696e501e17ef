package io.jrun.comm.kernel;

import io.jrun.comm.ReduceOp;

/** Arithmetic of boolean values in bytes of 0 and 1, by bitwise operators. */
final class BoolKernel implements Kernel {
    private final Kernel bytes;

    BoolKernel(Kernel bytes) {
        this.bytes = bytes;
    }

    @Override
    public void combine(ReduceOp op, long a, long b, long out, long count) {
        bytes.combine(bitwise(op), a, b, out, count);
    }

    @Override
    public void combineBoth(ReduceOp op, long a, long b, long count) {
        bytes.combineBoth(bitwise(op), a, b, count);
    }

    @Override
    public void divide(long data, int divisor, long count) {
        throw unsupported(ReduceOp.AVG);
    }

    private static ReduceOp bitwise(ReduceOp op) {
        return switch (op) {
            case SUM, MAX, BOR -> ReduceOp.BOR;
            case PROD, MIN, BAND -> ReduceOp.BAND;
            case BXOR -> ReduceOp.BXOR;
            case AVG -> throw unsupported(op);
        };
    }

    private static IllegalArgumentException unsupported(ReduceOp op) {
        return new IllegalArgumentException(op + " of boolean values");
    }
}
