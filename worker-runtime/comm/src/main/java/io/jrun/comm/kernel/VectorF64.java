package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;
import static io.jrun.comm.kernel.Memory.ORDER;

import io.jrun.comm.ReduceOp;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.VectorSpecies;

/** Vector loops over binary64. */
final class VectorF64 implements Kernel {
    static final VectorF64 INSTANCE = new VectorF64();

    private static final VectorSpecies<Double> LANES = DoubleVector.SPECIES_PREFERRED;
    private static final long BYTES = LANES.vectorByteSize();
    private static final long SIZE = Double.BYTES;
    private static final Kernel TAIL = ScalarF64.INSTANCE;

    private VectorF64() {}

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
            case BAND, BOR, BXOR -> throw new IllegalArgumentException(op + " of floating point numbers");
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
            case AVG -> {
                for (long i = 0; i < end; i += BYTES) {
                    putBoth(load(a + i).add(load(b + i)).mul(0.5), a + i, b + i);
                }
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
            case BAND, BOR, BXOR -> throw new IllegalArgumentException(op + " of floating point numbers");
        }
        TAIL.combineBoth(op, a + end, b + end, count - end / SIZE);
    }

    @Override
    public void divide(long data, int divisor, long count) {
        long end = LANES.loopBound(count) * SIZE;
        for (long i = 0; i < end; i += BYTES) {
            put(load(data + i).div((double) divisor), data + i);
        }
        TAIL.divide(data + end, divisor, count - end / SIZE);
    }

    @Override
    public void scale(long data, double factor, long count) {
        long end = LANES.loopBound(count) * SIZE;
        for (long i = 0; i < end; i += BYTES) {
            put(load(data + i).mul(factor), data + i);
        }
        TAIL.scale(data + end, factor, count - end / SIZE);
    }

    private static DoubleVector load(long address) {
        return DoubleVector.fromMemorySegment(LANES, ALL, address, ORDER);
    }

    private static void put(DoubleVector vector, long address) {
        vector.intoMemorySegment(ALL, address, ORDER);
    }

    private static void putBoth(DoubleVector vector, long a, long b) {
        put(vector, a);
        put(vector, b);
    }
}
