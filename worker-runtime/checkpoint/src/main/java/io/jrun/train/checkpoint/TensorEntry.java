package io.jrun.train.checkpoint;

import java.util.List;

/**
 * One tensor in a safetensors header.
 *
 * @param shape row-major; empty for a single element
 * @param beginBytes offset of the first element in the data section, in bytes
 * @param endBytes offset of the byte after the last element
 */
record TensorEntry(String name, ElementType type, List<Long> shape, long beginBytes, long endBytes) {
    TensorEntry {
        shape = List.copyOf(shape);
    }

    long sizeBytes() {
        return endBytes - beginBytes;
    }
}
