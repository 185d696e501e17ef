package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;
import static io.jrun.comm.kernel.Memory.ORDER;

import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/**
 * {@link ScalarF16} as vector loops in integer arithmetic, because the Vector API has no conversion of binary16.
 *
 * <p>Source of the method: F. Giesen, "float_to_half_fast3_rtne" and "half_to_float", public domain.
 */
final class VectorF16 implements HalfFormat {
    static final VectorF16 INSTANCE = new VectorF16();

    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Short> SHORTS =
            VectorSpecies.of(short.class, VectorShape.forBitSize(INTS.vectorBitSize() / 2));
    private static final int LANES = INTS.length();

    /** Number of fraction bits that binary32 has in addition to binary16. */
    private static final int SHIFT = 23 - 10;
    /** The difference of the exponents' biases, at the position of the exponent. */
    private static final int REBIAS = (127 - 15) << 23;

    private static final int INFINITY = 0x7c00;
    private static final int NAN = 0x7e00;
    private static final int MIN_NORMAL = 0x0400;
    /** 2^16, the first power of two that is too large. */
    private static final int TOO_LARGE = (127 + 16) << 23;
    /** 2^-14, the smallest normal number of binary16. */
    private static final int WIDE_MIN_NORMAL = (127 - 14) << 23;
    /**
     * The last place of 0.5 in binary32 is the smallest subnormal of binary16, so that an addition aligns or rounds it.
     */
    private static final float HALF = 0.5f;

    private static final int HALF_BITS = Float.floatToRawIntBits(HALF);

    private VectorF16() {}

    @Override
    public void widen(long halves, long floats, long count) {
        long end = INTS.loopBound(count);
        for (long i = 0; i < end; i += LANES) {
            ShortVector half = ShortVector.fromMemorySegment(SHORTS, ALL, halves + i * SIZE, ORDER);
            IntVector bits = (IntVector) half.convertShape(VectorOperators.S2I, INTS, 0);
            IntVector magnitude = bits.and(0x7fff);
            IntVector normal = magnitude.lanewise(VectorOperators.LSHL, SHIFT).add(REBIAS);
            VectorMask<Integer> special = magnitude.compare(VectorOperators.GE, INFINITY);
            IntVector subnormal =
                    magnitude.or(HALF_BITS).reinterpretAsFloats().sub(HALF).reinterpretAsInts();
            VectorMask<Integer> small = magnitude.compare(VectorOperators.LT, MIN_NORMAL);
            normal.add(REBIAS, special)
                    .blend(subnormal, small)
                    .or(bits.and(0x8000_0000))
                    .intoMemorySegment(ALL, floats + i * Float.BYTES, ORDER);
        }
        ScalarF16.INSTANCE.widen(halves + end * SIZE, floats + end * Float.BYTES, count - end);
    }

    @Override
    public void narrow(long floats, long halves, long count) {
        long end = INTS.loopBound(count);
        for (long i = 0; i < end; i += LANES) {
            IntVector bits = IntVector.fromMemorySegment(INTS, ALL, floats + i * Float.BYTES, ORDER);
            IntVector magnitude = bits.and(0x7fff_ffff);
            // Adds half of the last place, minus one bit if the last place is even. The sum carries to round up.
            IntVector even = magnitude.lanewise(VectorOperators.LSHR, SHIFT).and(1);
            IntVector normal = magnitude.add(0xfff - REBIAS).add(even).lanewise(VectorOperators.LSHR, SHIFT);
            IntVector subnormal = magnitude
                    .reinterpretAsFloats()
                    .add(HALF)
                    .reinterpretAsInts()
                    .sub(HALF_BITS);
            VectorMask<Integer> small = magnitude.compare(VectorOperators.LT, WIDE_MIN_NORMAL);
            VectorMask<Integer> large = magnitude.compare(VectorOperators.GE, TOO_LARGE);
            VectorMask<Integer> nan = magnitude.compare(VectorOperators.GT, 0x7f80_0000);
            IntVector sign = bits.lanewise(VectorOperators.LSHR, 16).and(0x8000);
            normal.blend(subnormal, small)
                    .blend(INFINITY, large)
                    .or(sign)
                    .blend(NAN, nan)
                    .convertShape(VectorOperators.I2S, SHORTS, 0)
                    .intoMemorySegment(ALL, halves + i * SIZE, ORDER);
        }
        ScalarF16.INSTANCE.narrow(floats + end * Float.BYTES, halves + end * SIZE, count - end);
    }
}
