package io.jrun.train.checkpoint;

import java.util.List;

/**
 * One tensor in a safetensors header.
 *
 * @param shape row-major; empty for a single element
 * @param beginBytes where its elements begin in the data section
 * @param endBytes one past their last byte
 */
record TensorEntry(String name, ElementType type, List<Long> shape, long beginBytes, long endBytes) {
    TensorEntry {
        shape = List.copyOf(shape);
    }

    long sizeBytes() {
        return endBytes - beginBytes;
    }
}
