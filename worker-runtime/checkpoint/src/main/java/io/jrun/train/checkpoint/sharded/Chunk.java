package io.jrun.train.checkpoint.sharded;

import io.jrun.train.checkpoint.CheckpointException;
import io.jrun.train.checkpoint.ElementType;
import java.util.ArrayList;
import java.util.List;

/**
 * A box of a tensor that is written in one piece.
 *
 * @param offsets the indices of the first element in the whole tensor
 * @param shape the shape of the box
 */
record Chunk(String name, ElementType type, List<Long> globalShape, List<Long> offsets, List<Long> shape) {
    Chunk {
        globalShape = List.copyOf(globalShape);
        offsets = List.copyOf(offsets);
        shape = List.copyOf(shape);
    }

    /**
     * The box of an entry.
     *
     * @throws CheckpointException if the element type cannot be saved
     */
    static Chunk of(StateEntry entry) {
        ElementType type = ElementType.of(entry.local().scalar_type())
                .orElseThrow(() -> new CheckpointException("tensor '" + entry.name() + "' has the element type "
                        + entry.local().scalar_type().intern() + ", which cannot be saved"));
        return new Chunk(entry.name(), type, entry.globalShape(), entry.offsets(), entry.shape());
    }

    long elements() {
        return volume(shape);
    }

    long bytes() {
        return Math.multiplyExact(elements(), type.sizeBytes());
    }

    /** The part of this chunk with these rows of the first dimension. */
    Chunk rows(long from, long count) {
        List<Long> partOffsets = new ArrayList<>(offsets);
        List<Long> partShape = new ArrayList<>(shape);
        partOffsets.set(0, offsets.getFirst() + from);
        partShape.set(0, count);
        return new Chunk(name, type, globalShape, partOffsets, partShape);
    }

    /** Whether the two boxes of one tensor have an element in common. */
    boolean overlaps(Chunk other) {
        for (int i = 0; i < shape.size(); i++) {
            if (offsets.get(i) >= other.offsets.get(i) + other.shape.get(i)
                    || other.offsets.get(i) >= offsets.get(i) + shape.get(i)) {
                return false;
            }
        }
        return true;
    }

    static long volume(List<Long> shape) {
        return shape.stream().reduce(1L, Math::multiplyExact);
    }
}
