package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;

import io.jrun.comm.ReduceOp;
import java.lang.foreign.ValueLayout;

/** Plain loops over binary64. */
final class ScalarF64 implements Kernel {
    static final ScalarF64 INSTANCE = new ScalarF64();

    private static final long SIZE = Double.BYTES;

    private ScalarF64() {}

    @Override
    public void combine(ReduceOp op, long a, long b, long out, long count) {
        long end = count * SIZE;
        switch (op) {
            case SUM, AVG -> {
                for (long i = 0; i < end; i += SIZE) {
                    set(out + i, get(a + i) + get(b + i));
                }
            }
            case PROD -> {
                for (long i = 0; i < end; i += SIZE) {
                    set(out + i, get(a + i) * get(b + i));
                }
            }
            case MIN -> {
                for (long i = 0; i < end; i += SIZE) {
                    set(out + i, Math.min(get(a + i), get(b + i)));
                }
            }
            case MAX -> {
                for (long i = 0; i < end; i += SIZE) {
                    set(out + i, Math.max(get(a + i), get(b + i)));
                }
            }
        }
    }

    @Override
    public void divide(long data, int divisor, long count) {
        for (long i = 0; i < count * SIZE; i += SIZE) {
            set(data + i, get(data + i) / divisor);
        }
    }

    private static double get(long address) {
        return ALL.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, address);
    }

    private static void set(long address, double value) {
        ALL.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, address, value);
    }
}
