package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Binary16, with the conversions of the JDK, in scalar loops on arrays as {@link ScalarF32}. */
final class ScalarF16 implements HalfFormat {
    static final ScalarF16 INSTANCE = new ScalarF16();

    private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED;
    private static final int BLOCK = 1024;
    private static final short NAN = 0x7e00;

    private ScalarF16() {}

    @Override
    public void widen(long halves, long floats, long count) {
        short[] x = new short[(int) Math.min(count, BLOCK)];
        float[] y = new float[x.length];
        for (long done = 0; done < count; done += BLOCK) {
            int length = (int) Math.min(count - done, BLOCK);
            MemorySegment.copy(ALL, SHORT, halves + done * SIZE, x, 0, length);
            for (int i = 0; i < length; i++) {
                y[i] = Float.float16ToFloat(x[i]);
            }
            MemorySegment.copy(y, 0, ALL, FLOAT, floats + done * Float.BYTES, length);
        }
    }

    @Override
    public void narrow(long floats, long halves, long count) {
        float[] x = new float[(int) Math.min(count, BLOCK)];
        short[] y = new short[x.length];
        for (long done = 0; done < count; done += BLOCK) {
            int length = (int) Math.min(count - done, BLOCK);
            MemorySegment.copy(ALL, FLOAT, floats + done * Float.BYTES, x, 0, length);
            for (int i = 0; i < length; i++) {
                y[i] = Float.isNaN(x[i]) ? NAN : Float.floatToFloat16(x[i]);
            }
            MemorySegment.copy(y, 0, ALL, SHORT, halves + done * SIZE, length);
        }
    }
}
