package io.jrun.comm.kernel;

import static io.jrun.comm.kernel.Memory.ALL;
import static io.jrun.comm.kernel.Memory.ORDER;

import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/** {@link ScalarBf16} as vector loops. */
final class VectorBf16 implements HalfFormat {
    static final VectorBf16 INSTANCE = new VectorBf16();

    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Short> SHORTS =
            VectorSpecies.of(short.class, VectorShape.forBitSize(INTS.vectorBitSize() / 2));
    private static final int LANES = INTS.length();
    private static final int NAN = 0x7fc0;

    private VectorBf16() {}

    @Override
    public void widen(long halves, long floats, long count) {
        long end = INTS.loopBound(count);
        for (long i = 0; i < end; i += LANES) {
            ShortVector half = ShortVector.fromMemorySegment(SHORTS, ALL, halves + i * SIZE, ORDER);
            IntVector bits = (IntVector) half.convertShape(VectorOperators.ZERO_EXTEND_S2I, INTS, 0);
            bits.lanewise(VectorOperators.LSHL, 16).intoMemorySegment(ALL, floats + i * Float.BYTES, ORDER);
        }
        ScalarBf16.INSTANCE.widen(halves + end * SIZE, floats + end * Float.BYTES, count - end);
    }

    @Override
    public void narrow(long floats, long halves, long count) {
        long end = INTS.loopBound(count);
        for (long i = 0; i < end; i += LANES) {
            IntVector bits = IntVector.fromMemorySegment(INTS, ALL, floats + i * Float.BYTES, ORDER);
            IntVector even = bits.lanewise(VectorOperators.LSHR, 16).and(1);
            IntVector rounded = bits.add(0x7fff).add(even).lanewise(VectorOperators.LSHR, 16);
            VectorMask<Integer> nan = bits.and(0x7fff_ffff).compare(VectorOperators.GT, 0x7f80_0000);
            rounded.blend(NAN, nan)
                    .convertShape(VectorOperators.I2S, SHORTS, 0)
                    .intoMemorySegment(ALL, halves + i * SIZE, ORDER);
        }
        ScalarBf16.INSTANCE.narrow(floats + end * Float.BYTES, halves + end * SIZE, count - end);
    }
}
