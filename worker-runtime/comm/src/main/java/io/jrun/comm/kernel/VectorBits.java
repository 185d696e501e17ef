package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;
import static io.jrun.comm.kernel.Memory.ORDER;

import io.jrun.comm.ReduceOp;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** The bitwise operators in vector loops, on bytes: to these operators all integers are alike. */
final class VectorBits {
    private static final VectorSpecies<Byte> LANES = ByteVector.SPECIES_PREFERRED;
    private static final long BYTES = LANES.vectorByteSize();

    private VectorBits() {}

    /** {@link Kernel#combine} for {@code count} bytes. */
    static void combine(ReduceOp op, long a, long b, long out, long count) {
        long end = LANES.loopBound(count);
        switch (op) {
            case BAND -> {
                for (long i = 0; i < end; i += BYTES) {
                    put(load(a + i).and(load(b + i)), out + i);
                }
            }
            case BOR -> {
                for (long i = 0; i < end; i += BYTES) {
                    put(load(a + i).or(load(b + i)), out + i);
                }
            }
            case BXOR -> {
                for (long i = 0; i < end; i += BYTES) {
                    put(load(a + i).lanewise(VectorOperators.XOR, load(b + i)), out + i);
                }
            }
            case SUM, AVG, PROD, MIN, MAX -> throw new IllegalArgumentException(op + " is not bitwise");
        }
        ScalarI8.SIGNED.combine(op, a + end, b + end, out + end, count - end);
    }

    private static ByteVector load(long address) {
        return ByteVector.fromMemorySegment(LANES, ALL, address, ORDER);
    }

    private static void put(ByteVector vector, long address) {
        vector.intoMemorySegment(ALL, address, ORDER);
    }
}
