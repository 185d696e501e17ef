package io.jrun.comm.kernel;

import io.jrun.comm.ReduceOp;
import java.lang.foreign.ValueLayout;

/** Scalar loops over 64-bit integers. */
final class ScalarI64 extends ScalarKernel<long[]> {
    static final ScalarI64 INSTANCE = new ScalarI64();

    private ScalarI64() {
        super(ValueLayout.JAVA_LONG_UNALIGNED);
    }

    @Override
    long[] array(int length) {
        return new long[length];
    }

    @Override
    void combine(ReduceOp op, long[] x, long[] y, int length) {
        switch (op) {
            case SUM, AVG -> {
                for (int i = 0; i < length; i++) {
                    x[i] += y[i];
                }
            }
            case PROD -> {
                for (int i = 0; i < length; i++) {
                    x[i] *= y[i];
                }
            }
            case MIN -> {
                for (int i = 0; i < length; i++) {
                    x[i] = Math.min(x[i], y[i]);
                }
            }
            case MAX -> {
                for (int i = 0; i < length; i++) {
                    x[i] = Math.max(x[i], y[i]);
                }
            }
            case BAND -> {
                for (int i = 0; i < length; i++) {
                    x[i] &= y[i];
                }
            }
            case BOR -> {
                for (int i = 0; i < length; i++) {
                    x[i] |= y[i];
                }
            }
            case BXOR -> {
                for (int i = 0; i < length; i++) {
                    x[i] ^= y[i];
                }
            }
        }
    }

    @Override
    void divide(long[] x, int divisor, int length) {
        for (int i = 0; i < length; i++) {
            x[i] /= divisor;
        }
    }
}
