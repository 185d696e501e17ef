package io.jrun.train.checkpoint;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The position and layout of a tensor in a file. Immutable.
 *
 * @param shape sizes of the dimensions; empty for a single element
 * @param strides steps in elements from one index of a dimension to the next; as many as {@code shape}
 * @param position absolute position of the first element in bytes
 */
public record StoredTensor(String name, ElementType type, List<Long> shape, List<Long> strides, long position) {
    /**
     * Checks that the sizes can be computed.
     *
     * @throws IllegalArgumentException if a size or stride is negative, or if the count of bytes exceeds 64 bits; the
     *     message names the tensor
     */
    public StoredTensor {
        shape = List.copyOf(shape);
        strides = List.copyOf(strides);
        if (shape.size() != strides.size()) {
            throw new IllegalArgumentException(
                    "tensor '" + name + "' has the shape " + shape + " but the strides " + strides);
        }
        for (int i = 0; i < shape.size(); i++) {
            if (shape.get(i) < 0 || strides.get(i) < 0) {
                throw new IllegalArgumentException("tensor '" + name + "' has the shape " + shape + " and the strides "
                        + strides + ", expected no negative numbers");
            }
        }
        bytes(name, type, shape);
        span(name, type, shape, strides);
    }

    /** A tensor whose elements lie one after the other, the last dimension innermost. */
    static StoredTensor rowMajor(String name, ElementType type, List<Long> shape, long position) {
        return new StoredTensor(name, type, shape, rowMajorStrides(shape), position);
    }

    /** Bytes of all elements. */
    public long sizeBytes() {
        return bytes(name, type, shape);
    }

    /** Bytes in the file from the first element to the last. */
    public long spanBytes() {
        return span(name, type, shape, strides);
    }

    /** Whether the elements lie one after the other in the order of their indexes. */
    public boolean isRowMajor() {
        List<Long> expected = rowMajorStrides(shape);
        for (int i = 0; i < shape.size(); i++) {
            if (shape.get(i) > 1 && !strides.get(i).equals(expected.get(i))) {
                return shape.contains(0L);
            }
        }
        return true;
    }

    long[] sizes() {
        return shape.stream().mapToLong(Long::longValue).toArray();
    }

    long[] steps() {
        return strides.stream().mapToLong(Long::longValue).toArray();
    }

    /** Type and shape as {@code F32[2, 3]}. */
    String form() {
        return type + shape.toString();
    }

    private static List<Long> rowMajorStrides(List<Long> shape) {
        List<Long> strides = new ArrayList<>();
        long step = 1;
        for (Long size : shape.reversed()) {
            strides.add(step);
            step *= Math.max(1, size);
        }
        Collections.reverse(strides);
        return strides;
    }

    private static long bytes(String name, ElementType type, List<Long> shape) {
        if (shape.contains(0L)) {
            return 0;
        }
        try {
            long bytes = type.sizeBytes();
            for (long size : shape) {
                bytes = Math.multiplyExact(bytes, size);
            }
            return bytes;
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(
                    "tensor '" + name + "' of shape " + shape + " has more than 2^63 bytes", e);
        }
    }

    private static long span(String name, ElementType type, List<Long> shape, List<Long> strides) {
        if (shape.contains(0L)) {
            return 0;
        }
        try {
            long last = 0;
            for (int i = 0; i < shape.size(); i++) {
                last = Math.addExact(last, Math.multiplyExact(shape.get(i) - 1, strides.get(i)));
            }
            return Math.multiplyExact(Math.addExact(last, 1), type.sizeBytes());
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(
                    "tensor '" + name + "' of shape " + shape + " and strides " + strides
                            + " spans more than 2^63 bytes",
                    e);
        }
    }
}
