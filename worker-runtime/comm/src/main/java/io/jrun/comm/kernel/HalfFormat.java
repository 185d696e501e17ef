package io.jrun.comm.kernel;

/**
 * Conversion between a 16-bit floating point format and binary32, on native memory as {@link Kernel}. The ranges must
 * not overlap. Stateless.
 */
interface HalfFormat {
    /** Size of an element of the format. */
    long SIZE = Short.BYTES;

    /** Converts {@code count} elements to binary32, exactly. A NaN stays a NaN with any payload. */
    void widen(long halves, long floats, long count);

    /**
     * Rounds {@code count} elements of binary32 to nearest, ties to even. Too large magnitudes become infinite. Every
     * NaN becomes the positive quiet NaN without payload, because payloads depend on the processor and on the
     * compiler's order of operands, and results must have equal bits everywhere.
     */
    void narrow(long floats, long halves, long count);
}
