package io.jrun.comm.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.DataType;
import io.jrun.comm.HalfReference;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class HalfFormatTest {
    private static final int CODES = 1 << 16;
    private static final int RANDOM = 300_000;

    static Stream<Arguments> formats() {
        return Stream.of(
                Arguments.of(DataType.F16, ScalarF16.INSTANCE),
                Arguments.of(DataType.F16, VectorF16.INSTANCE),
                Arguments.of(DataType.BF16, ScalarBf16.INSTANCE),
                Arguments.of(DataType.BF16, VectorBf16.INSTANCE));
    }

    @ParameterizedTest
    @MethodSource("formats")
    void everyCodeIsWidenedToItsValue(DataType type, HalfFormat format) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment halves = arena.allocate(CODES * 2L, 64);
            for (int code = 0; code < CODES; code++) {
                halves.setAtIndex(ValueLayout.JAVA_SHORT, code, (short) code);
            }
            MemorySegment floats = arena.allocate(CODES * 4L, 64);
            format.widen(halves.address(), floats.address(), CODES);
            for (int code = 0; code < CODES; code++) {
                // As double, so that zeros of different sign are different, and all NaN are equal.
                double value = floats.getAtIndex(ValueLayout.JAVA_FLOAT, code);
                if (Double.compare(value, HalfReference.of(type).value((short) code)) != 0) {
                    assertThat(value)
                            .as("value of 0x%04x", code)
                            .isEqualTo(HalfReference.of(type).value((short) code));
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("formats")
    void everythingIsRoundedToNearestEven(DataType type, HalfFormat format) {
        int[] bits = interesting(HalfReference.of(type));
        // An odd count, so that the scalar loop after the vector loop runs too.
        int count = bits.length / 16 * 16 - 1;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment floats = arena.allocateFrom(ValueLayout.JAVA_INT, bits);
            MemorySegment halves = arena.allocate(count * 2L, 64);
            format.narrow(floats.address(), halves.address(), count);
            for (int i = 0; i < count; i++) {
                short expected = HalfReference.of(type).round(Float.intBitsToFloat(bits[i]));
                short actual = halves.getAtIndex(ValueLayout.JAVA_SHORT, i);
                if (actual != expected) {
                    assertThat(Integer.toHexString(actual & 0xffff))
                            .as("%a (0x%08x)", Float.intBitsToFloat(bits[i]), bits[i])
                            .isEqualTo(Integer.toHexString(expected & 0xffff));
                }
            }
        }
    }

    /**
     * Every value of the format, every midpoint between two, the neighbours of both, all kinds of NaN, the limits of
     * binary32, and random bits; as bits of binary32.
     */
    private static int[] interesting(HalfReference reference) {
        Random random = new Random(1);
        IntStream places = IntStream.range(0, CODES).flatMap(code -> {
            float value = (float) reference.value((short) code);
            float next = (float) reference.value((short) (code + 1));
            float middle = value + (next - value) / 2;
            return Stream.of(
                            value,
                            Math.nextUp(value),
                            Math.nextDown(value),
                            middle,
                            Math.nextUp(middle),
                            Math.nextDown(middle))
                    .mapToInt(Float::floatToRawIntBits);
        });
        IntStream limits = IntStream.of(
                0x7f80_0000,
                0xff80_0000,
                0x7f80_0001,
                0xff80_0001,
                0x7fc0_0000,
                0xffff_ffff,
                0x7f7f_ffff,
                0xff7f_ffff,
                1,
                0x8000_0001,
                0x007f_ffff,
                0x477f_efff,
                0x477f_f000,
                0x477f_f001,
                0x4780_0000,
                0x7f7f_7fff,
                0x7f7f_8000);
        return Stream.of(limits, places, IntStream.generate(random::nextInt).limit(RANDOM))
                .flatMapToInt(part -> part)
                .toArray();
    }
}
