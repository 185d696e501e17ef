package io.jrun.train.mesh;

/**
 * The part of a dimension that one rank holds. The rule is the rule of {@code torch.chunk}: the parts have
 * {@code ceil(size / ranks)} elements until no element is left. The last parts have fewer elements, or none.
 *
 * @param offset index of the first element in the whole dimension
 * @param length number of elements
 */
public record ShardRange(long offset, long length) {
    /**
     * The part of one rank.
     *
     * @param size elements of the whole dimension, 0 or more
     * @param ranks the number of ranks on the axis
     * @param coordinate number of the rank on the axis
     */
    public static ShardRange of(long size, int ranks, int coordinate) {
        if (size < 0 || ranks < 1 || coordinate < 0 || coordinate >= ranks) {
            throw new IllegalArgumentException(
                    "no part " + coordinate + " of " + size + " elements in " + ranks + " parts");
        }
        long part = Math.ceilDiv(size, ranks);
        long offset = Math.min(size, part * coordinate);
        return new ShardRange(offset, Math.min(part, size - offset));
    }
}
