package io.jrun.train.mesh;

/**
 * Each rank holds a part of the tensor along one dimension, see {@link ShardRange}.
 *
 * @param dim 0 or more
 * @param sections number of equal sections of the dimension. Each section is sharded by itself, and a rank holds its
 *     parts of all sections, one after the other. Use 3 for a weight that makes queries, keys and values: a rank then
 *     has its heads of each (torch: {@code _StridedShard})
 * @param isRouted whether the ranks train on different samples, and send the samples to the rank with the part, as
 *     ranks that share experts do. The gradient of a part then has the samples of all ranks of the axis
 */
public record Shard(int dim, int sections, boolean isRouted) implements TensorPlacement {
    public Shard {
        if (dim < 0) {
            throw new IllegalArgumentException("the dimension of a shard must be 0 or more, not " + dim);
        }
        if (sections < 1) {
            throw new IllegalArgumentException("a shard must have at least 1 section, not " + sections);
        }
    }

    /** Parts of one section: the whole dimension. */
    public Shard(int dim) {
        this(dim, 1);
    }

    /** Parts of ranks that train on the same samples. */
    public Shard(int dim, int sections) {
        this(dim, sections, false);
    }

    /** Parts of one section, of ranks that send their samples to the rank with the part. */
    public static Shard routed(int dim) {
        return new Shard(dim, 1, true);
    }
}
