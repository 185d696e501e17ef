package io.jrun.train.ddp;

import io.jrun.comm.DataType;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Gradients that are reduced as one: neighbouring slices of registered memory. */
record Bucket(List<Integer> parameters, MemorySegment memory, DataType type) {
    Bucket {
        parameters = List.copyOf(parameters);
    }

    /** Elements, the padding between slices included. */
    long elements() {
        return memory.byteSize() / type.sizeBytes();
    }
}
