package io.jrun.comm;

/** Element types a collective can move and reduce. Multi-byte elements are in the machine's native byte order. */
public enum DataType {
    /** IEEE 754 binary32. */
    F32(Float.BYTES, "f32"),
    /** IEEE 754 binary64. */
    F64(Double.BYTES, "f64"),
    /** Two's complement, 32 bits; sums and products wrap. */
    I32(Integer.BYTES, "i32"),
    /** Two's complement, 64 bits; sums and products wrap. */
    I64(Long.BYTES, "i64");

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
}
