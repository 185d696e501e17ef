package io.jrun.comm;

/** Element types a collective can move and reduce. Multi-byte elements are in the machine's native byte order. */
public enum DataType {
    /** IEEE 754 binary16; reduced in binary32, see {@link ReduceOp}. */
    F16(Short.BYTES, "f16"),
    /** The upper half of a binary32: 8 bits of exponent, 7 of fraction; reduced in binary32, see {@link ReduceOp}. */
    BF16(Short.BYTES, "bf16"),
    /** IEEE 754 binary32. */
    F32(Float.BYTES, "f32"),
    /** IEEE 754 binary64. */
    F64(Double.BYTES, "f64"),
    /** Two's complement, 8 bits; sums and products wrap. */
    I8(Byte.BYTES, "i8"),
    /** Unsigned, 8 bits; sums and products wrap. */
    U8(Byte.BYTES, "u8"),
    /** Two's complement, 32 bits; sums and products wrap. */
    I32(Integer.BYTES, "i32"),
    /** Two's complement, 64 bits; sums and products wrap. */
    I64(Long.BYTES, "i64"),
    /** One byte that is 0 or 1. The result of a reduction of other bytes is undefined. */
    BOOL(Byte.BYTES, "bool");

    private final int sizeBytes;
    private final String label;

    DataType(int sizeBytes, String label) {
        this.sizeBytes = sizeBytes;
        this.label = label;
    }

    /** Short name for messages: {@code f32}. */
    public String label() {
        return label;
    }

    /** Size of one element in bytes. */
    public int sizeBytes() {
        return sizeBytes;
    }

    /** Whether elements have an exponent and a fraction. */
    public boolean isFloat() {
        return switch (this) {
            case F16, BF16, F32, F64 -> true;
            case I8, U8, I32, I64, BOOL -> false;
        };
    }
}
