package io.jrun.comm;

/** Element types a collective can move and reduce. Multi-byte elements are in the machine's native byte order. */
public enum DataType {
    /** IEEE 754 binary32. */
    F32(Float.BYTES),
    /** IEEE 754 binary64. */
    F64(Double.BYTES),
    /** Two's complement, 32 bits; sums and products wrap. */
    I32(Integer.BYTES),
    /** Two's complement, 64 bits; sums and products wrap. */
    I64(Long.BYTES);

    private final int sizeBytes;

    DataType(int sizeBytes) {
        this.sizeBytes = sizeBytes;
    }

    /** Size of one element in bytes. */
    public int sizeBytes() {
        return sizeBytes;
    }
}
