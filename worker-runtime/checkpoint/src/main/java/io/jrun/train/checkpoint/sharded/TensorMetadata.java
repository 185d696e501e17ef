package io.jrun.train.checkpoint.sharded;

import io.jrun.train.checkpoint.ElementType;
import java.util.List;

/**
 * A tensor of a checkpoint.
 *
 * @param globalShape the shape of the whole tensor
 */
public record TensorMetadata(String name, ElementType type, List<Long> globalShape) {
    public TensorMetadata {
        globalShape = List.copyOf(globalShape);
    }
}
