package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;
import static io.jrun.comm.kernel.Memory.ORDER;

import io.jrun.comm.ReduceOp;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

/** Vector loops over binary32. */
final class VectorF32 implements Kernel {
    static final VectorF32 INSTANCE = new VectorF32();

    private static final VectorSpecies<Float> LANES = FloatVector.SPECIES_PREFERRED;
    private static final long BYTES = LANES.vectorByteSize();
    private static final long SIZE = Float.BYTES;
    private static final Kernel TAIL = ScalarF32.INSTANCE;

    /** Vectors that {@link #foldAll} has in hand: enough that their additions do not wait for each other. */
    private static final int FOLDED = 4;

    private VectorF32() {}

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
                    putBoth(load(a + i).add(load(b + i)).mul(0.5f), a + i, b + i);
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
            put(load(data + i).div((float) divisor), data + i);
        }
        TAIL.divide(data + end, divisor, count - end / SIZE);
    }

    @Override
    public void scale(long data, double factor, long count) {
        long end = LANES.loopBound(count) * SIZE;
        for (long i = 0; i < end; i += BYTES) {
            put(load(data + i).mul((float) factor), data + i);
        }
        TAIL.scale(data + end, factor, count - end / SIZE);
    }

    /** Of sums, several vectors at a time through all contributions, and out to all of them. */
    @Override
    public void foldAll(ReduceOp op, long[] contributions, long offset, long scratch, long count, int elementBytes) {
        long step = FOLDED * BYTES;
        long end = op == ReduceOp.SUM || op == ReduceOp.AVG ? count * SIZE / step * step : 0;
        int ranks = contributions.length;
        float divisor = op == ReduceOp.AVG ? ranks : 1;
        for (long i = offset; i < offset + end; i += step) {
            long at = contributions[0] + i;
            FloatVector v0 = load(at);
            FloatVector v1 = load(at + BYTES);
            FloatVector v2 = load(at + 2 * BYTES);
            FloatVector v3 = load(at + 3 * BYTES);
            for (int rank = 1; rank < ranks; rank++) {
                at = contributions[rank] + i;
                v0 = v0.add(load(at));
                v1 = v1.add(load(at + BYTES));
                v2 = v2.add(load(at + 2 * BYTES));
                v3 = v3.add(load(at + 3 * BYTES));
            }
            if (divisor != 1) {
                v0 = v0.div(divisor);
                v1 = v1.div(divisor);
                v2 = v2.div(divisor);
                v3 = v3.div(divisor);
            }
            for (int rank = 0; rank < ranks; rank++) {
                at = contributions[rank] + i;
                put(v0, at);
                put(v1, at + BYTES);
                put(v2, at + 2 * BYTES);
                put(v3, at + 3 * BYTES);
            }
        }
        if (end < count * SIZE) {
            Kernel.super.foldAll(op, contributions, offset + end, scratch, count - end / SIZE, elementBytes);
        }
    }

    private static FloatVector load(long address) {
        return FloatVector.fromMemorySegment(LANES, ALL, address, ORDER);
    }

    private static void put(FloatVector vector, long address) {
        vector.intoMemorySegment(ALL, address, ORDER);
    }

    private static void putBoth(FloatVector vector, long a, long b) {
        put(vector, a);
        put(vector, b);
    }
}
