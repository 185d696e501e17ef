package io.jrun.train.checkpoint.sharded;

import io.jrun.train.tensor.TensorMemory;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * One rank's part of a tensor: a box in the whole tensor. A full tensor is the box of all elements.
 *
 * @param name of the tensor, equal on all ranks; a rank may hold several boxes of one tensor
 * @param globalShape the shape of the whole tensor
 * @param offsets the indices of the first local element in the whole tensor, one for each dimension
 * @param local the elements of the box; may have no elements
 */
public record StateEntry(String name, List<Long> globalShape, List<Long> offsets, Tensor local) {
    /** Throws {@link IllegalArgumentException} if the box does not lie inside the whole tensor. */
    public StateEntry {
        globalShape = List.copyOf(globalShape);
        offsets = List.copyOf(offsets);
        List<Long> shape = shapeOf(local);
        boolean fits = shape.size() == globalShape.size() && offsets.size() == globalShape.size();
        for (int i = 0; fits && i < shape.size(); i++) {
            fits = offsets.get(i) >= 0 && offsets.get(i) + shape.get(i) <= globalShape.get(i);
        }
        if (!fits) {
            throw new IllegalArgumentException("tensor '" + name + "' of shape " + globalShape
                    + " has no part of shape " + shape + " at " + offsets);
        }
    }

    /** A tensor that this rank holds in full. */
    public static StateEntry full(String name, Tensor tensor) {
        List<Long> shape = shapeOf(tensor);
        return new StateEntry(name, shape, Collections.nCopies(shape.size(), 0L), tensor);
    }

    /** Name and place, unique in the state dictionary. */
    String key() {
        return name + offsets;
    }

    /** The shape of the local part. */
    public List<Long> shape() {
        return shapeOf(local);
    }

    private static List<Long> shapeOf(Tensor tensor) {
        return Arrays.stream(TensorMemory.sizes(tensor)).boxed().toList();
    }
}
