package io.jrun.train.mesh;

/**
 * The distribution of a tensor along one axis of a mesh.
 *
 * @param axis the ranks
 * @param placement what each of the ranks holds
 */
public record AxisPlacement(MeshAxis axis, TensorPlacement placement) {
    /** Whether each of several ranks holds another part. */
    boolean divides() {
        return placement instanceof Shard && axis.size() > 1;
    }

    /** Whether the part of each of several ranks gets the samples of all these ranks. */
    boolean routes() {
        return placement instanceof Shard shard && shard.isRouted() && axis.size() > 1;
    }
}
