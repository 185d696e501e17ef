package io.jrun.comm.kernel;

import io.jrun.comm.ReduceOp;
import java.lang.foreign.ValueLayout;

/** Scalar loops over binary64. */
final class ScalarF64 extends ScalarKernel<double[]> {
    static final ScalarF64 INSTANCE = new ScalarF64();

    private ScalarF64() {
        super(ValueLayout.JAVA_DOUBLE_UNALIGNED);
    }

    @Override
    double[] array(int length) {
        return new double[length];
    }

    @Override
    void combine(ReduceOp op, double[] x, double[] y, int length) {
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
            case BAND, BOR, BXOR -> throw new IllegalArgumentException(op + " of floating point numbers");
        }
    }

    @Override
    void divide(double[] x, int divisor, int length) {
        for (int i = 0; i < length; i++) {
            x[i] /= divisor;
        }
    }

    @Override
    void scale(double[] x, double factor, int length) {
        for (int i = 0; i < length; i++) {
            x[i] *= factor;
        }
    }
}
