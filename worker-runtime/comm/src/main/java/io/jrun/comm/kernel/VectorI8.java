package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;
import static io.jrun.comm.kernel.Memory.ORDER;

import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** Vector loops over bytes, signed or unsigned. */
final class VectorI8 implements Kernel {
    static final VectorI8 SIGNED = new VectorI8(ScalarI8.SIGNED, 0);
    static final VectorI8 UNSIGNED = new VectorI8(ScalarI8.UNSIGNED, 0x80);

    private static final VectorSpecies<Byte> LANES = ByteVector.SPECIES_PREFERRED;
    private static final long BYTES = LANES.vectorByteSize();
    private static final long BLOCK = 4096;

    private final Kernel fileTail;
    /** What turns the type's order into that of signed bytes, by exclusive or. */
    private final byte flip;

    private VectorI8(Kernel fileTail, int flip) {
        this.fileTail = fileTail;
        this.flip = (byte) flip;
    }

    @Override
    public void combine(ReduceOp op, long a, long b, long out, long count) {
        long end = LANES.loopBound(count);
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
                ByteVector flips = ByteVector.broadcast(LANES, flip);
                for (long i = 0; i < end; i += BYTES) {
                    put(xor(xor(load(a + i), flips).min(xor(load(b + i), flips)), flips), out + i);
                }
            }
            case MAX -> {
                ByteVector flips = ByteVector.broadcast(LANES, flip);
                for (long i = 0; i < end; i += BYTES) {
                    put(xor(xor(load(a + i), flips).max(xor(load(b + i), flips)), flips), out + i);
                }
            }
            case BAND, BOR, BXOR -> {
                VectorBits.combine(op, a, b, out, count);
                return;
            }
        }
        fileTail.combine(op, a + end, b + end, out + end, count - end);
    }

    @Override
    public void combineBoth(ReduceOp op, long a, long b, long count) {
        for (long at = 0; at < count; at += BLOCK) {
            long length = Math.min(BLOCK, count - at);
            combine(op, a + at, b + at, a + at, length);
            if (op == ReduceOp.AVG) {
                divide(a + at, 2, length);
            }
            MemorySegment.copy(ALL, a + at, ALL, b + at, length);
        }
    }

    @Override
    public void divide(long data, int divisor, long count) {
        // No processor divides integers in vectors.
        fileTail.divide(data, divisor, count);
    }

    private static ByteVector load(long address) {
        return ByteVector.fromMemorySegment(LANES, ALL, address, ORDER);
    }

    private static ByteVector xor(ByteVector x, ByteVector y) {
        return x.lanewise(VectorOperators.XOR, y);
    }

    private static void put(ByteVector vector, long address) {
        vector.intoMemorySegment(ALL, address, ORDER);
    }
}
