package io.jrun.comm.kernel;

import io.jrun.comm.ReduceOp;
import java.lang.foreign.ValueLayout;

/** Scalar loops over 32-bit integers. */
final class ScalarI32 extends ScalarKernel<int[]> {
    static final ScalarI32 INSTANCE = new ScalarI32();

    private ScalarI32() {
        super(ValueLayout.JAVA_INT_UNALIGNED);
    }

    @Override
    int[] array(int length) {
        return new int[length];
    }

    @Override
    void combine(ReduceOp op, int[] x, int[] y, int length) {
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
    void divide(int[] x, int divisor, int length) {
        for (int i = 0; i < length; i++) {
            x[i] /= divisor;
        }
    }
}
