package io.jrun.bench.collective;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Integer-valued test data of every type, small enough that reductions are exact. Stateless. */
final class TestData {
    /** The period of the data. The period is a prime, so a block in the wrong place has wrong values. */
    private static final int PERIOD = 97;

    private TestData() {}

    /** Returns the contribution of {@code rank} at {@code index}. */
    static long of(DataType type, ReduceOp op, long rank, long index) {
        if (type == DataType.BOOL) {
            return parity(rank + index);
        }
        boolean fewBits = type.sizeBytes() < Integer.BYTES || op == ReduceOp.PROD;
        return fewBits ? 1 + parity(rank + index) : index % PERIOD + rank;
    }

    /** Returns 0 or 1 without a period: the sequence of Thue and Morse. */
    private static long parity(long index) {
        return Long.bitCount(index) & 1;
    }

    /** Returns the reduction of the contributions of {@code ranks} ranks at {@code index}; the sum for AVG. */
    static long reduced(DataType type, ReduceOp op, int ranks, long index) {
        long result = of(type, op, 0, index);
        for (int rank = 1; rank < ranks; rank++) {
            result = combine(type, op, result, of(type, op, rank, index));
        }
        return result;
    }

    private static long combine(DataType type, ReduceOp op, long a, long b) {
        return switch (op) {
            case SUM, AVG -> type == DataType.BOOL ? a | b : a + b;
            case PROD -> a * b;
            case MIN -> Math.min(a, b);
            case MAX -> Math.max(a, b);
            case BAND -> a & b;
            case BOR -> a | b;
            case BXOR -> a ^ b;
        };
    }

    /** Writes {@code value}. */
    static void set(MemorySegment buffer, DataType type, long index, long value) {
        long at = index * type.sizeBytes();
        switch (type) {
            case F16 -> buffer.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, Float.floatToFloat16((float) value));
            case BF16 ->
                buffer.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, (short) (Float.floatToIntBits((float) value) >>> 16));
            case F32 -> buffer.set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, (float) value);
            case F64 -> buffer.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, at, (double) value);
            case I8, U8, BOOL -> buffer.set(ValueLayout.JAVA_BYTE, at, (byte) value);
            case I32 -> buffer.set(ValueLayout.JAVA_INT_UNALIGNED, at, (int) value);
            case I64 -> buffer.set(ValueLayout.JAVA_LONG_UNALIGNED, at, value);
        }
    }

    /** Whether the element is {@code wanted}, divided by {@code divisor} as the type's arithmetic divides. */
    static boolean equal(MemorySegment buffer, DataType type, long index, long wanted, int divisor) {
        long at = index * type.sizeBytes();
        return switch (type) {
            case F16 ->
                Float.float16ToFloat(buffer.get(ValueLayout.JAVA_SHORT_UNALIGNED, at))
                        == Float.float16ToFloat(Float.floatToFloat16((float) wanted / divisor));
            case BF16 -> {
                int bits = buffer.get(ValueLayout.JAVA_SHORT_UNALIGNED, at) << 16;
                float exact = (float) wanted / divisor;
                yield Math.abs(Float.intBitsToFloat(bits) - exact) <= Math.abs(exact) / 256;
            }
            case F32 ->
                Math.abs(buffer.get(ValueLayout.JAVA_FLOAT_UNALIGNED, at) - (float) wanted / divisor)
                        <= (divisor == 1 ? 0 : Math.ulp((float) wanted / divisor));
            case F64 ->
                Math.abs(buffer.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, at) - (double) wanted / divisor)
                        <= (divisor == 1 ? 0 : Math.ulp((double) wanted / divisor));
            case I8, U8, BOOL -> buffer.get(ValueLayout.JAVA_BYTE, at) == (byte) (wanted / divisor);
            case I32 -> buffer.get(ValueLayout.JAVA_INT_UNALIGNED, at) == (int) (wanted / divisor);
            case I64 -> buffer.get(ValueLayout.JAVA_LONG_UNALIGNED, at) == wanted / divisor;
        };
    }
}
