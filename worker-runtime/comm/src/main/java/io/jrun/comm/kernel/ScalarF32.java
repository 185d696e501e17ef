package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;

import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Plain loops over binary32, on arrays that blocks are copied to: loops over arrays are fast with every compiler of the VM,
 * loops over memory segments with the last one only.
 */
final class ScalarF32 implements Kernel {
    static final ScalarF32 INSTANCE = new ScalarF32();

    private static final long SIZE = Float.BYTES;
    private static final ValueLayout.OfFloat LAYOUT = ValueLayout.JAVA_FLOAT_UNALIGNED;
    private static final int BLOCK = 4096 / Float.BYTES;

    private ScalarF32() {}

    @Override
    public void combine(ReduceOp op, long a, long b, long out, long count) {
        if (count == 0) {
            return; // The rest of a vector loop that has none.
        }
        float[] x = new float[(int) Math.min(count, BLOCK)];
        float[] y = new float[x.length];
        for (long done = 0; done < count; done += BLOCK) {
            int length = (int) Math.min(count - done, BLOCK);
            MemorySegment.copy(ALL, LAYOUT, a + done * SIZE, x, 0, length);
            MemorySegment.copy(ALL, LAYOUT, b + done * SIZE, y, 0, length);
            combine(op, x, y, length);
            MemorySegment.copy(x, 0, ALL, LAYOUT, out + done * SIZE, length);
        }
    }

    private static void combine(ReduceOp op, float[] x, float[] y, int length) {
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
    public void combineBoth(ReduceOp op, long a, long b, long count) {
        combine(op, a, b, a, count);
        if (op == ReduceOp.AVG) {
            divide(a, 2, count);
        }
        MemorySegment.copy(ALL, a, ALL, b, count * SIZE);
    }

    @Override
    public void divide(long data, int divisor, long count) {
        if (count == 0) {
            return; // The rest of a vector loop that has none.
        }
        float[] x = new float[(int) Math.min(count, BLOCK)];
        for (long done = 0; done < count; done += BLOCK) {
            int length = (int) Math.min(count - done, BLOCK);
            MemorySegment.copy(ALL, LAYOUT, data + done * SIZE, x, 0, length);
            for (int i = 0; i < length; i++) {
                x[i] /= divisor;
            }
            MemorySegment.copy(x, 0, ALL, LAYOUT, data + done * SIZE, length);
        }
    }

    @Override
    public void scale(long data, double factor, long count) {
        if (count == 0) {
            return; // The rest of a vector loop that has none.
        }
        float[] x = new float[(int) Math.min(count, BLOCK)];
        for (long done = 0; done < count; done += BLOCK) {
            int length = (int) Math.min(count - done, BLOCK);
            MemorySegment.copy(ALL, LAYOUT, data + done * SIZE, x, 0, length);
            for (int i = 0; i < length; i++) {
                x[i] *= (float) factor;
            }
            MemorySegment.copy(x, 0, ALL, LAYOUT, data + done * SIZE, length);
        }
    }
}
