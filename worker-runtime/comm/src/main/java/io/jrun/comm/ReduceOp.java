package io.jrun.comm;

/**
 * The operator that reduces the contributions of several ranks to one element. Floating point NaN propagates through
 * every operator.
 *
 * <p>F16 and BF16 are reduced in binary32. A partial result that is stored as F16 or BF16 is rounded to nearest, ties
 * to even: once per element over shared memory and in deterministic mode, else once per message. A rounded NaN is the
 * positive quiet NaN of the type without payload.
 *
 * <p>For BOOL, SUM and MAX are the logical or; PROD and MIN are the logical and.
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

    /** Whether the operator is defined for elements of {@code type}. */
    public boolean supports(DataType type) {
        return switch (this) {
            case SUM, MIN, MAX, PROD -> true;
            case AVG -> type != DataType.BOOL;
            case BAND, BOR, BXOR -> !type.isFloat();
        };
    }
}
