package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;

import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Plain loops over bytes, signed or unsigned, on arrays as {@link ScalarI32}. */
final class ScalarI8 implements Kernel {
    static final ScalarI8 SIGNED = new ScalarI8(0);
    static final ScalarI8 UNSIGNED = new ScalarI8(0x80);

    private static final ValueLayout.OfByte LAYOUT = ValueLayout.JAVA_BYTE;
    private static final int BLOCK = 4096;

    /** What turns the type's order into that of signed bytes, by exclusive or. */
    private final int flip;

    private ScalarI8(int flip) {
        this.flip = flip;
    }

    @Override
    public void combine(ReduceOp op, long a, long b, long out, long count) {
        if (count == 0) {
            return; // The rest of a vector loop that has none.
        }
        byte[] x = new byte[(int) Math.min(count, BLOCK)];
        byte[] y = new byte[x.length];
        for (long done = 0; done < count; done += BLOCK) {
            int length = (int) Math.min(count - done, BLOCK);
            MemorySegment.copy(ALL, LAYOUT, a + done, x, 0, length);
            MemorySegment.copy(ALL, LAYOUT, b + done, y, 0, length);
            combine(op, x, y, length);
            MemorySegment.copy(x, 0, ALL, LAYOUT, out + done, length);
        }
    }

    private void combine(ReduceOp op, byte[] x, byte[] y, int length) {
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
    public void combineBoth(ReduceOp op, long a, long b, long count) {
        combine(op, a, b, a, count);
        if (op == ReduceOp.AVG) {
            divide(a, 2, count);
        }
        MemorySegment.copy(ALL, a, ALL, b, count);
    }

    @Override
    public void divide(long data, int divisor, long count) {
        for (long at = data; at < data + count; at++) {
            byte element = ALL.get(LAYOUT, at);
            int value = this == UNSIGNED ? element & 0xff : element;
            ALL.set(LAYOUT, at, (byte) (value / divisor));
        }
    }
}
