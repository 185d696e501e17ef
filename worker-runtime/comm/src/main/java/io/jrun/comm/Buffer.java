package io.jrun.comm;

import java.lang.foreign.MemorySegment;

/**
 * Elements of one type, one behind the other, on one device. Immutable; the memory must live until every operation on the
 * buffer is done. A program may make a buffer once and pass it to many operations.
 *
 * @param memory heap or native memory; for a device other than {@code cpu} an address of that device. At least {@code count}
 *     elements long
 * @param type of the elements, in native byte order
 * @param count number of elements
 * @param device where the memory is
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
