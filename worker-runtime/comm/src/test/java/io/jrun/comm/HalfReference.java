package io.jrun.comm;

/**
 * The plain definition of a 16-bit floating point format, for comparison: sign, exponent and fraction as the standard
 * defines their value, and rounding by looking for the nearest.
 *
 * @param exponentBits 5 for F16, 8 for BF16
 */
public record HalfReference(int exponentBits) {
    /** The format of {@code type}. */
    public static HalfReference of(DataType type) {
        return new HalfReference(type == DataType.F16 ? 5 : 8);
    }

    private int fractionBits() {
        return 15 - exponentBits;
    }

    /** The code of infinity. A greater code, without its sign, is a NaN. */
    public int infinity() {
        return ((1 << exponentBits) - 1) << fractionBits();
    }

    /** The NaN that results have. */
    public short nan() {
        return (short) (infinity() | (1 << (fractionBits() - 1)));
    }

    /** The value of a code. */
    public double value(short code) {
        int magnitude = code & 0x7fff;
        double value = magnitude > infinity()
                ? Double.NaN
                : magnitude == infinity() ? Double.POSITIVE_INFINITY : finite(magnitude);
        return code < 0 ? -value : value;
    }

    /** Also of the code of infinity, as if the exponents went on. */
    private double finite(int magnitude) {
        int bias = (1 << (exponentBits - 1)) - 1;
        int exponent = magnitude >> fractionBits();
        int fraction = magnitude & ((1 << fractionBits()) - 1);
        return exponent == 0
                ? Math.scalb((double) fraction, 1 - bias - fractionBits())
                : Math.scalb((double) (fraction + (1 << fractionBits())), exponent - bias - fractionBits());
    }

    /** The code nearest to {@code value}, of two the even one. */
    public short round(double value) {
        if (Double.isNaN(value)) {
            return nan();
        }
        double magnitude = Math.abs(value);
        int below = 0;
        int above = infinity();
        while (above - below > 1) {
            int middle = (below + above) / 2;
            if (finite(middle) <= magnitude) {
                below = middle;
            } else {
                above = middle;
            }
        }
        double down = magnitude - finite(below);
        double up = finite(above) - magnitude;
        int nearest = down < up || (down == up && below % 2 == 0) ? below : above;
        return (short) (Double.doubleToRawLongBits(value) < 0 ? nearest | 0x8000 : nearest);
    }
}
