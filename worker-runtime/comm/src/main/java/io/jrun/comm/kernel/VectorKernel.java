package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;
import static io.jrun.comm.kernel.Memory.ORDER;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Vector loops over elements of one type. {@link VectorKernels} defines this class once for each type, with the type as
 * its class data, because vector code is fast only if the compiler sees one constant vector type.
 */
final class VectorKernel implements Kernel {
    private static final DataType TYPE = type();
    private static final VectorSpecies<Number> LANES = species();
    private static final long BYTES = LANES.vectorByteSize();
    private static final long SIZE = TYPE.sizeBytes();
    private static final Kernel TAIL = Kernels.scalar(TYPE);
    private static final VectorOperators.Binary MIN = TYPE == DataType.U8 ? VectorOperators.UMIN : VectorOperators.MIN;
    private static final VectorOperators.Binary MAX = TYPE == DataType.U8 ? VectorOperators.UMAX : VectorOperators.MAX;

    /** The block size of {@link #combineBlocks} in bytes. A block stays in the first-level cache. */
    private static final long BLOCK_BYTES = 4096;

    /**
     * The number of vectors that {@link #foldAll} processes together, so that their additions do not wait for each
     * other.
     */
    private static final int FOLDED = 4;

    private static DataType type() {
        try {
            return MethodHandles.classData(MethodHandles.lookup(), "_", DataType.class);
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
    }

    @SuppressWarnings("unchecked") // This copy of the class has one element type.
    private static VectorSpecies<Number> species() {
        VectorSpecies<?> species = switch (TYPE) {
            case F32 -> FloatVector.SPECIES_PREFERRED;
            case F64 -> DoubleVector.SPECIES_PREFERRED;
            case I8, U8 -> ByteVector.SPECIES_PREFERRED;
            case I32 -> IntVector.SPECIES_PREFERRED;
            case I64 -> LongVector.SPECIES_PREFERRED;
            case F16, BF16, BOOL -> throw new IllegalArgumentException("no vectors of " + TYPE);
        };
        return (VectorSpecies<Number>) species;
    }

    @Override
    public void combine(ReduceOp op, long a, long b, long out, long count) {
        long end = LANES.loopBound(count) * SIZE;
        switch (op) {
            case SUM, AVG -> add(a, b, out, end);
            case PROD -> multiply(a, b, out, end);
            case MIN -> min(a, b, out, end);
            case MAX -> max(a, b, out, end);
            case BAND -> and(a, b, out, end);
            case BOR -> or(a, b, out, end);
            case BXOR -> xor(a, b, out, end);
        }
        TAIL.combine(op, a + end, b + end, out + end, count - end / SIZE);
    }

    // One method for each operator, because the compiler does not optimize a method with more than two or three vector
    // loops.

    private static void add(long a, long b, long out, long end) {
        for (long i = 0; i < end; i += BYTES) {
            put(load(a + i).add(load(b + i)), out + i);
        }
    }

    private static void multiply(long a, long b, long out, long end) {
        for (long i = 0; i < end; i += BYTES) {
            put(load(a + i).mul(load(b + i)), out + i);
        }
    }

    private static void min(long a, long b, long out, long end) {
        for (long i = 0; i < end; i += BYTES) {
            put(load(a + i).lanewise(MIN, load(b + i)), out + i);
        }
    }

    private static void max(long a, long b, long out, long end) {
        for (long i = 0; i < end; i += BYTES) {
            put(load(a + i).lanewise(MAX, load(b + i)), out + i);
        }
    }

    private static void and(long a, long b, long out, long end) {
        for (long i = 0; i < end; i += BYTES) {
            put(load(a + i).lanewise(VectorOperators.AND, load(b + i)), out + i);
        }
    }

    private static void or(long a, long b, long out, long end) {
        for (long i = 0; i < end; i += BYTES) {
            put(load(a + i).lanewise(VectorOperators.OR, load(b + i)), out + i);
        }
    }

    private static void xor(long a, long b, long out, long end) {
        for (long i = 0; i < end; i += BYTES) {
            put(load(a + i).lanewise(VectorOperators.XOR, load(b + i)), out + i);
        }
    }

    @Override
    public void combineBoth(ReduceOp op, long a, long b, long count) {
        long end = LANES.loopBound(count) * SIZE;
        switch (op) {
            case SUM -> addBoth(a, b, end);
            case PROD -> multiplyBoth(a, b, end);
            case MIN -> minBoth(a, b, end);
            case MAX -> maxBoth(a, b, end);
            case AVG, BAND, BOR, BXOR -> {
                if (op == ReduceOp.AVG && TYPE.isFloat()) {
                    averageBoth(a, b, end);
                } else {
                    combineBlocks(op, a, b, count);
                    return;
                }
            }
        }
        TAIL.combineBoth(op, a + end, b + end, count - end / SIZE);
    }

    private static void addBoth(long a, long b, long end) {
        for (long i = 0; i < end; i += BYTES) {
            putBoth(load(a + i).add(load(b + i)), a + i, b + i);
        }
    }

    private static void multiplyBoth(long a, long b, long end) {
        for (long i = 0; i < end; i += BYTES) {
            putBoth(load(a + i).mul(load(b + i)), a + i, b + i);
        }
    }

    private static void minBoth(long a, long b, long end) {
        for (long i = 0; i < end; i += BYTES) {
            putBoth(load(a + i).lanewise(MIN, load(b + i)), a + i, b + i);
        }
    }

    private static void maxBoth(long a, long b, long end) {
        for (long i = 0; i < end; i += BYTES) {
            putBoth(load(a + i).lanewise(MAX, load(b + i)), a + i, b + i);
        }
    }

    private static void averageBoth(long a, long b, long end) {
        Vector<Number> half = broadcast(0.5);
        for (long i = 0; i < end; i += BYTES) {
            putBoth(load(a + i).add(load(b + i)).mul(half), a + i, b + i);
        }
    }

    private void combineBlocks(ReduceOp op, long a, long b, long count) {
        long block = BLOCK_BYTES / SIZE;
        for (long done = 0; done < count; done += block) {
            long at = a + done * SIZE;
            long length = Math.min(block, count - done);
            combine(op, at, b + done * SIZE, at, length);
            if (op == ReduceOp.AVG) {
                divide(at, 2, length);
            }
            MemorySegment.copy(ALL, at, ALL, b + done * SIZE, length * SIZE);
        }
    }

    @Override
    public void divide(long data, int divisor, long count) {
        // Processors have no vector division of integers.
        long end = TYPE.isFloat() ? LANES.loopBound(count) * SIZE : 0;
        Vector<Number> divisors = broadcast(divisor);
        for (long i = 0; i < end; i += BYTES) {
            put(load(data + i).div(divisors), data + i);
        }
        TAIL.divide(data + end, divisor, count - end / SIZE);
    }

    @Override
    public void scale(long data, double factor, long count) {
        long end = LANES.loopBound(count) * SIZE;
        Vector<Number> factors = broadcast(factor);
        for (long i = 0; i < end; i += BYTES) {
            put(load(data + i).mul(factors), data + i);
        }
        TAIL.scale(data + end, factor, count - end / SIZE);
    }

    /**
     * For floating point sums: reduces several vectors at a time over all contributions, and writes them to all
     * contributions.
     */
    @Override
    public void foldAll(ReduceOp op, long[] contributions, long offset, long scratch, long count, int elementBytes) {
        long step = FOLDED * BYTES;
        boolean isSum = TYPE.isFloat() && (op == ReduceOp.SUM || op == ReduceOp.AVG);
        long end = isSum ? count * SIZE / step * step : 0;
        int ranks = contributions.length;
        Vector<Number> divisors = broadcast(ranks);
        for (long i = offset; i < offset + end; i += step) {
            long at = contributions[0] + i;
            Vector<Number> v0 = load(at);
            Vector<Number> v1 = load(at + BYTES);
            Vector<Number> v2 = load(at + 2 * BYTES);
            Vector<Number> v3 = load(at + 3 * BYTES);
            for (int rank = 1; rank < ranks; rank++) {
                at = contributions[rank] + i;
                v0 = v0.add(load(at));
                v1 = v1.add(load(at + BYTES));
                v2 = v2.add(load(at + 2 * BYTES));
                v3 = v3.add(load(at + 3 * BYTES));
            }
            if (op == ReduceOp.AVG) {
                v0 = v0.div(divisors);
                v1 = v1.div(divisors);
                v2 = v2.div(divisors);
                v3 = v3.div(divisors);
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

    private static Vector<Number> load(long address) {
        return LANES.fromMemorySegment(ALL, address, ORDER);
    }

    private static void put(Vector<Number> vector, long address) {
        vector.intoMemorySegment(ALL, address, ORDER);
    }

    private static void putBoth(Vector<Number> vector, long a, long b) {
        put(vector, a);
        put(vector, b);
    }

    /** Returns {@code value} in all lanes, rounded to the type. */
    @SuppressWarnings("unchecked") // This copy of the class has one element type.
    private static Vector<Number> broadcast(double value) {
        Vector<?> lanes = TYPE == DataType.F32
                ? FloatVector.broadcast(FloatVector.SPECIES_PREFERRED, (float) value)
                : TYPE == DataType.F64 ? DoubleVector.broadcast(DoubleVector.SPECIES_PREFERRED, value) : LANES.zero();
        return (Vector<Number>) lanes;
    }
}
