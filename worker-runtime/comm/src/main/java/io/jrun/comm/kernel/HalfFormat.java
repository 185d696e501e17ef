package io.jrun.comm.kernel;

/**
 * Conversion between a 16-bit floating point format and binary32, on native memory as {@link Kernel}; ranges are apart.
 * Stateless.
 */
interface HalfFormat {
    /** Size of an element of the format. */
    long SIZE = Short.BYTES;

    /** Converts {@code count} elements to binary32, exactly; of a NaN it matters only that it stays one. */
    void widen(long halves, long floats, long count);

    /**
     * Rounds {@code count} elements of binary32 to nearest, ties to even; what is too large becomes infinite. Every NaN
     * becomes the positive quiet one without payload: which payload arithmetic passes on depends on the processor and on
     * the compiler's order of operands, and results are to have equal bits everywhere.
     */
    void narrow(long floats, long halves, long count);
}
