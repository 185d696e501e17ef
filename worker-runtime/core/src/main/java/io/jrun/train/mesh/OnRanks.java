package io.jrun.train.mesh;

import java.util.List;

/**
 * Some ranks hold the whole tensor, with equal values. The others hold nothing, as the ranks of a pipeline hold nothing
 * of the layers of other ranks.
 *
 * @param coordinates the numbers of these ranks on the axis, ascending
 */
public record OnRanks(List<Integer> coordinates) implements TensorPlacement {
    public OnRanks {
        coordinates = List.copyOf(coordinates);
        if (coordinates.isEmpty()) {
            throw new IllegalArgumentException("a tensor needs at least one rank that holds it");
        }
    }
}
