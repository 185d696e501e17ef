package io.jrun.train.fsdp;

import io.jrun.comm.Buffer;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import java.lang.foreign.MemorySegment;
import org.bytedeco.pytorch.Tensor;

/** Memory of one device that units take and give back. Confined to the training thread. */
interface UnitMemory {
    /** The device of all memory. */
    Device device();

    /** At least this many bytes, with any values: a tensor of one dimension, which outlives the caller's scope. */
    Tensor take(long bytes);

    /**
     * Takes back what {@link #take} returned. Work that the default stream of the device holds may still use the memory,
     * and no other work.
     */
    void give(Tensor memory);

    /** All elements of a part of the memory, for a collective. */
    default Buffer buffer(MemorySegment part, DataType type) {
        return new Buffer(part, type, part.byteSize() / type.sizeBytes(), device());
    }
}
