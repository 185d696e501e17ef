package io.jrun.comm.kernel;

import io.jrun.comm.ReduceOp;
import java.lang.foreign.ValueLayout;

/** Scalar loops over binary32. */
final class ScalarF32 extends ScalarKernel<float[]> {
    static final ScalarF32 INSTANCE = new ScalarF32();

    private ScalarF32() {
        super(ValueLayout.JAVA_FLOAT_UNALIGNED);
    }

    @Override
    float[] array(int length) {
        return new float[length];
    }

    @Override
    void combine(ReduceOp op, float[] x, float[] y, int length) {
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
    void divide(float[] x, int divisor, int length) {
        for (int i = 0; i < length; i++) {
            x[i] /= divisor;
        }
    }

    @Override
    void scale(float[] x, double factor, int length) {
        for (int i = 0; i < length; i++) {
            x[i] *= (float) factor;
        }
    }
}
