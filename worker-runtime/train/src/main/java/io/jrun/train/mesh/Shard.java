package io.jrun.train.mesh;

/**
 * Each rank holds a part of the tensor along one dimension, see {@link ShardRange}.
 *
 * @param dim 0 or more
 */
public record Shard(int dim) implements TensorPlacement {
    public Shard {
        if (dim < 0) {
            throw new IllegalArgumentException("the dimension of a shard must be 0 or more, not " + dim);
        }
    }
}
