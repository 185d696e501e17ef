package io.jrun.comm.kernel;

import io.jrun.comm.ReduceOp;
import java.lang.foreign.ValueLayout;

/** Scalar loops over bytes, signed or unsigned. */
final class ScalarI8 extends ScalarKernel<byte[]> {
    static final ScalarI8 SIGNED = new ScalarI8(0);
    static final ScalarI8 UNSIGNED = new ScalarI8(0x80);

    /** Exclusive or with this number turns the order of the type into the order of signed bytes. */
    private final int flip;

    private ScalarI8(int flip) {
        super(ValueLayout.JAVA_BYTE);
        this.flip = flip;
    }

    @Override
    byte[] array(int length) {
        return new byte[length];
    }

    @Override
    void combine(ReduceOp op, byte[] x, byte[] y, int length) {
        switch (op) {
            case SUM, AVG -> {
                for (int i = 0; i < length; i++) {
                    x[i] = (byte) (x[i] + y[i]);
                }
            }
            case PROD -> {
                for (int i = 0; i < length; i++) {
                    x[i] = (byte) (x[i] * y[i]);
                }
            }
            case MIN -> {
                for (int i = 0; i < length; i++) {
                    x[i] = ordered(x[i]) <= ordered(y[i]) ? x[i] : y[i];
                }
            }
            case MAX -> {
                for (int i = 0; i < length; i++) {
                    x[i] = ordered(x[i]) >= ordered(y[i]) ? x[i] : y[i];
                }
            }
            case BAND -> {
                for (int i = 0; i < length; i++) {
                    x[i] = (byte) (x[i] & y[i]);
                }
            }
            case BOR -> {
                for (int i = 0; i < length; i++) {
                    x[i] = (byte) (x[i] | y[i]);
                }
            }
            case BXOR -> {
                for (int i = 0; i < length; i++) {
                    x[i] = (byte) (x[i] ^ y[i]);
                }
            }
        }
    }

    private byte ordered(byte element) {
        return (byte) (element ^ flip);
    }

    @Override
    void divide(byte[] x, int divisor, int length) {
        int bits = this == UNSIGNED ? 0xff : -1;
        for (int i = 0; i < length; i++) {
            x[i] = (byte) ((x[i] & bits) / divisor);
        }
    }
}
