package io.jrun.comm;

/**
 * How contributions of several ranks become one element. Floating point NaN propagates through every operator.
 *
 * <p>F16 and BF16 are folded in binary32 and rounded to nearest, ties to even, whenever a partial result goes into memory of
 * the element type: once per element over shared memory and in deterministic mode, else once per message. A NaN so rounded
 * is the type's positive quiet NaN without payload.
 *
 * <p>Of BOOL, SUM and MAX are the logical or, PROD and MIN the logical and.
 */
public enum ReduceOp {
    /** Sum over ranks. */
    SUM,
    /** Sum over ranks divided by the group size; integer types divide the wrapped sum towards zero. Not for BOOL. */
    AVG,
    /** Smallest contribution. */
    MIN,
    /** Largest contribution. */
    MAX,
    /** Product over ranks. */
    PROD,
    /** Bitwise and; for integers and BOOL. */
    BAND,
    /** Bitwise or; for integers and BOOL. */
    BOR,
    /** Bitwise exclusive or; for integers and BOOL. */
    BXOR;

    /** Whether elements of {@code type} can be combined so. */
    public boolean supports(DataType type) {
        return switch (this) {
            case SUM, MIN, MAX, PROD -> true;
            case AVG -> type != DataType.BOOL;
            case BAND, BOR, BXOR -> !type.isFloat();
        };
    }
}
