package io.jrun.comm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.LongUnaryOperator;

/** Typed access to elements of buffers, for tests that run over all types. */
public record Elements(DataType type) {
    /** Heap memory for {@code count} elements. */
    public MemorySegment heap(int count) {
        return switch (type) {
            case F16, BF16 -> MemorySegment.ofArray(new short[count]);
            case F32 -> MemorySegment.ofArray(new float[count]);
            case F64 -> MemorySegment.ofArray(new double[count]);
            case I8, U8, BOOL -> MemorySegment.ofArray(new byte[count]);
            case I32 -> MemorySegment.ofArray(new int[count]);
            case I64 -> MemorySegment.ofArray(new long[count]);
        };
    }

    /**
     * Turns a small number into a value whose sums and products over a few ranks are exact in the type: a power of two
     * for types of few bits, and 0 or 1 for booleans.
     */
    public long exact(long value) {
        return switch (type) {
            case F16, BF16 -> 1L << (value & 3);
            case F32, F64, I8, U8, I32, I64 -> value;
            case BOOL -> value & 1;
        };
    }

    /** Writes {@code value / divisor}, divided in the type that arithmetic is done in, and rounded or cut off. */
    public void set(MemorySegment buffer, long index, long value, int divisor) {
        long offset = index * type.sizeBytes();
        switch (type) {
            case F16, BF16 -> setFloat(buffer, index, (float) value / divisor);
            case F32 -> buffer.set(ValueLayout.JAVA_FLOAT_UNALIGNED, offset, (float) value / divisor);
            case F64 -> buffer.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, offset, (double) value / divisor);
            case I8, U8 -> buffer.set(ValueLayout.JAVA_BYTE, offset, (byte) (value / divisor));
            case I32 -> buffer.set(ValueLayout.JAVA_INT_UNALIGNED, offset, (int) (value / divisor));
            case I64 -> buffer.set(ValueLayout.JAVA_LONG_UNALIGNED, offset, value / divisor);
            case BOOL -> buffer.set(ValueLayout.JAVA_BYTE, offset, (byte) (value & 1));
        }
    }

    /**
     * Writes {@code value} of 0, 1, 2... over {@code divisor} into {@code count} elements from {@code first} on. The
     * values repeat after {@code period} elements, so that all but the first are copies.
     */
    public void fill(MemorySegment buffer, long first, long count, int period, LongUnaryOperator value, int divisor) {
        long done = Math.min(period, count);
        for (long i = 0; i < done; i++) {
            set(buffer, first + i, value.applyAsLong(i), divisor);
        }
        MemorySegment filled = buffer.asSlice(first * type.sizeBytes(), count * type.sizeBytes());
        while (done < count) {
            long more = Math.min(done, count - done);
            MemorySegment.copy(filled, 0, filled, done * type.sizeBytes(), more * type.sizeBytes());
            done += more;
        }
    }

    /** Rounds to the type. Only {@link DataType#F64} keeps more than a float. */
    public void setReal(MemorySegment buffer, long index, double value) {
        if (type == DataType.F64) {
            buffer.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, index * Double.BYTES, value);
        } else {
            setFloat(buffer, index, (float) value);
        }
    }

    /** Writes {@code value}, rounded, into a buffer of F16, BF16 or F32. */
    public void setFloat(MemorySegment buffer, long index, float value) {
        long offset = index * type.sizeBytes();
        int bits = Float.floatToRawIntBits(value);
        if (type == DataType.F32) {
            buffer.set(ValueLayout.JAVA_FLOAT_UNALIGNED, offset, value);
        } else if (type == DataType.F16) {
            buffer.set(ValueLayout.JAVA_SHORT_UNALIGNED, offset, Float.floatToFloat16(value));
        } else {
            boolean isExact = (short) bits == 0;
            short rounded =
                    isExact ? (short) (bits >>> 16) : HalfReference.of(type).round(value);
            buffer.set(ValueLayout.JAVA_SHORT_UNALIGNED, offset, rounded);
        }
    }

    /** The element at {@code index}. */
    public Number get(MemorySegment buffer, long index) {
        long offset = index * type.sizeBytes();
        return switch (type) {
            case F16, BF16 -> HalfReference.of(type).value(buffer.get(ValueLayout.JAVA_SHORT_UNALIGNED, offset));
            case F32 -> buffer.get(ValueLayout.JAVA_FLOAT_UNALIGNED, offset);
            case F64 -> buffer.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, offset);
            case I8, BOOL -> buffer.get(ValueLayout.JAVA_BYTE, offset);
            case U8 -> Byte.toUnsignedInt(buffer.get(ValueLayout.JAVA_BYTE, offset));
            case I32 -> buffer.get(ValueLayout.JAVA_INT_UNALIGNED, offset);
            case I64 -> buffer.get(ValueLayout.JAVA_LONG_UNALIGNED, offset);
        };
    }
}
