package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;
import static io.jrun.comm.kernel.Memory.ORDER;

import io.jrun.comm.ReduceOp;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorSpecies;

/** Vector loops over 64-bit integers. */
final class VectorI64 implements Kernel {
    static final VectorI64 INSTANCE = new VectorI64();

    private static final VectorSpecies<Long> LANES = LongVector.SPECIES_PREFERRED;
    private static final long BYTES = LANES.vectorByteSize();
    private static final long SIZE = Long.BYTES;
    private static final Kernel TAIL = ScalarI64.INSTANCE;

    private VectorI64() {}

    @Override
    public void combine(ReduceOp op, long a, long b, long out, long count) {
        long end = LANES.loopBound(count) * SIZE;
        switch (op) {
            case SUM, AVG -> {
                for (long i = 0; i < end; i += BYTES) {
                    put(load(a + i).add(load(b + i)), out + i);
                }
            }
            case PROD -> {
                for (long i = 0; i < end; i += BYTES) {
                    put(load(a + i).mul(load(b + i)), out + i);
                }
            }
            case MIN -> {
                for (long i = 0; i < end; i += BYTES) {
                    put(load(a + i).min(load(b + i)), out + i);
                }
            }
            case MAX -> {
                for (long i = 0; i < end; i += BYTES) {
                    put(load(a + i).max(load(b + i)), out + i);
                }
            }
            case BAND, BOR, BXOR -> {
                VectorBits.combine(op, a, b, out, count * SIZE);
                return;
            }
        }
        TAIL.combine(op, a + end, b + end, out + end, count - end / SIZE);
    }

    @Override
    public void combineBoth(ReduceOp op, long a, long b, long count) {
        long end = LANES.loopBound(count) * SIZE;
        switch (op) {
            case SUM -> {
                for (long i = 0; i < end; i += BYTES) {
                    putBoth(load(a + i).add(load(b + i)), a + i, b + i);
                }
            }
            case AVG, BAND, BOR, BXOR -> {
                TAIL.combineBoth(op, a, b, count);
                return;
            }
            case PROD -> {
                for (long i = 0; i < end; i += BYTES) {
                    putBoth(load(a + i).mul(load(b + i)), a + i, b + i);
                }
            }
            case MIN -> {
                for (long i = 0; i < end; i += BYTES) {
                    putBoth(load(a + i).min(load(b + i)), a + i, b + i);
                }
            }
            case MAX -> {
                for (long i = 0; i < end; i += BYTES) {
                    putBoth(load(a + i).max(load(b + i)), a + i, b + i);
                }
            }
        }
        TAIL.combineBoth(op, a + end, b + end, count - end / SIZE);
    }

    @Override
    public void divide(long data, int divisor, long count) {
        // No processor divides integers in vectors.
        TAIL.divide(data, divisor, count);
    }

    private static LongVector load(long address) {
        return LongVector.fromMemorySegment(LANES, ALL, address, ORDER);
    }

    private static void put(LongVector vector, long address) {
        vector.intoMemorySegment(ALL, address, ORDER);
    }

    private static void putBoth(LongVector vector, long a, long b) {
        put(vector, a);
        put(vector, b);
    }
}
