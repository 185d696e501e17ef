package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Bfloat16, the upper half of a binary32, in scalar loops on arrays as {@link ScalarF32}. */
final class ScalarBf16 implements HalfFormat {
    static final ScalarBf16 INSTANCE = new ScalarBf16();

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED;
    private static final int BLOCK = 1024;
    private static final int NAN = 0x7fc0;

    private ScalarBf16() {}

    @Override
    public void widen(long halves, long floats, long count) {
        short[] x = new short[(int) Math.min(count, BLOCK)];
        int[] y = new int[x.length];
        for (long done = 0; done < count; done += BLOCK) {
            int length = (int) Math.min(count - done, BLOCK);
            MemorySegment.copy(ALL, SHORT, halves + done * SIZE, x, 0, length);
            for (int i = 0; i < length; i++) {
                y[i] = x[i] << 16;
            }
            MemorySegment.copy(y, 0, ALL, INT, floats + done * Float.BYTES, length);
        }
    }

    @Override
    public void narrow(long floats, long halves, long count) {
        int[] x = new int[(int) Math.min(count, BLOCK)];
        short[] y = new short[x.length];
        for (long done = 0; done < count; done += BLOCK) {
            int length = (int) Math.min(count - done, BLOCK);
            MemorySegment.copy(ALL, INT, floats + done * Float.BYTES, x, 0, length);
            for (int i = 0; i < length; i++) {
                y[i] = (short) (isNan(x[i]) ? NAN : round(x[i]));
            }
            MemorySegment.copy(y, 0, ALL, SHORT, halves + done * SIZE, length);
        }
    }

    private static boolean isNan(int bits) {
        return (bits & 0x7fff_ffff) > 0x7f80_0000;
    }

    // Adds half of the last place, minus one bit if the last place is even. The sum carries into the last place
    // exactly when the number must be rounded up.
    private static int round(int bits) {
        return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
    }
}
