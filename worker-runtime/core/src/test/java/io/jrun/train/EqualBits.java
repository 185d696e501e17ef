package io.jrun.train;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Compares numbers by their bits. The recursive comparison of AssertJ takes floats that differ by 1e-6 for equal. */
public final class EqualBits {
    private EqualBits() {}

    /** Asserts that the arrays have the same bits in the same order. Names the first element that differs. */
    public static void assertEqualBits(List<float[]> found, List<float[]> expected) {
        assertThat(found).hasSameSizeAs(expected);
        for (int i = 0; i < found.size(); i++) {
            assertEqualBits("array " + i, found.get(i), expected.get(i));
        }
    }

    /** Asserts that the arrays have the same names and bits. Names the first element that differs. */
    public static void assertEqualBits(Map<String, float[]> found, Map<String, float[]> expected) {
        assertThat(found.keySet()).isEqualTo(expected.keySet());
        found.forEach((name, numbers) -> assertEqualBits(name, numbers, Objects.requireNonNull(expected.get(name))));
    }

    private static void assertEqualBits(String name, float[] found, float[] expected) {
        assertThat(found).as(name).hasSameSizeAs(expected);
        int at = Arrays.mismatch(bits(found), bits(expected));
        if (at >= 0) {
            throw new AssertionError(String.format(
                    "%s, element %d of %d: found %s (0x%08x), expected %s (0x%08x)",
                    name,
                    at,
                    found.length,
                    found[at],
                    Float.floatToRawIntBits(found[at]),
                    expected[at],
                    Float.floatToRawIntBits(expected[at])));
        }
    }

    private static int[] bits(float[] numbers) {
        int[] bits = new int[numbers.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = Float.floatToRawIntBits(numbers[i]);
        }
        return bits;
    }
}
