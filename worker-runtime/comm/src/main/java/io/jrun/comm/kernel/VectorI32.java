package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;
import static io.jrun.comm.kernel.Memory.ORDER;

import io.jrun.comm.ReduceOp;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorSpecies;

/** Vector loops over 32-bit integers. */
final class VectorI32 implements Kernel {
    static final VectorI32 INSTANCE = new VectorI32();

    private static final VectorSpecies<Integer> LANES = IntVector.SPECIES_PREFERRED;
    private static final long BYTES = LANES.vectorByteSize();
    private static final long SIZE = Integer.BYTES;
    private static final Kernel TAIL = ScalarI32.INSTANCE;

    private VectorI32() {}

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

    private static IntVector load(long address) {
        return IntVector.fromMemorySegment(LANES, ALL, address, ORDER);
    }

    private static void put(IntVector vector, long address) {
        vector.intoMemorySegment(ALL, address, ORDER);
    }

    private static void putBoth(IntVector vector, long a, long b) {
        put(vector, a);
        put(vector, b);
    }
}
