package io.jrun.comm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Typed access to elements of buffers, for tests that run over all types. */
record Elements(DataType type) {
    MemorySegment heap(int count) {
        return switch (type) {
            case F32 -> MemorySegment.ofArray(new float[count]);
            case F64 -> MemorySegment.ofArray(new double[count]);
            case I32 -> MemorySegment.ofArray(new int[count]);
            case I64 -> MemorySegment.ofArray(new long[count]);
        };
    }

    /** Writes {@code value / divisor}, divided in the element type. */
    void set(MemorySegment buffer, long index, long value, int divisor) {
        long offset = index * type.sizeBytes();
        switch (type) {
            case F32 -> buffer.set(ValueLayout.JAVA_FLOAT_UNALIGNED, offset, (float) value / divisor);
            case F64 -> buffer.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, offset, (double) value / divisor);
            case I32 -> buffer.set(ValueLayout.JAVA_INT_UNALIGNED, offset, (int) (value / divisor));
            case I64 -> buffer.set(ValueLayout.JAVA_LONG_UNALIGNED, offset, value / divisor);
        }
    }

    Number get(MemorySegment buffer, long index) {
        long offset = index * type.sizeBytes();
        return switch (type) {
            case F32 -> buffer.get(ValueLayout.JAVA_FLOAT_UNALIGNED, offset);
            case F64 -> buffer.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, offset);
            case I32 -> buffer.get(ValueLayout.JAVA_INT_UNALIGNED, offset);
            case I64 -> buffer.get(ValueLayout.JAVA_LONG_UNALIGNED, offset);
        };
    }
}
