package io.jrun.comm;

import java.lang.foreign.MemorySegment;

/**
 * A contiguous array of elements of one type on one device. Immutable. The memory must stay valid until every operation
 * on the buffer is done. A program may make a buffer once and pass the buffer to many operations.
 *
 * @param memory heap or native memory of at least {@code count} elements; for a device other than {@code cpu}, an
 *     address of that device
 * @param type type of the elements, in native byte order
 * @param count number of elements
 * @param device device that holds the memory
 */
public record Buffer(MemorySegment memory, DataType type, long count, Device device) {
    public Buffer {
        if (count < 0 || count > memory.byteSize() / type.sizeBytes()) {
            throw new CommException(
                    ErrorCode.USAGE,
                    "a buffer of " + count + " elements of " + type.label() + " in " + memory.byteSize()
                            + " bytes of memory (expected 0 to " + memory.byteSize() / type.sizeBytes()
                            + " elements)");
        }
    }

    /** The first {@code count} elements of host memory. */
    public static Buffer ofHost(MemorySegment memory, DataType type, long count) {
        return new Buffer(memory, type, count, Device.CPU);
    }
}
