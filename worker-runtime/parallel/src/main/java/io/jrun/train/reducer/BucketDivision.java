package io.jrun.train.reducer;

import io.jrun.train.mesh.ShardRange;

/**
 * The parts of a bucket that the ranks update. The parts are whole cache lines: torch.chunk's rule for the lines. A pure
 * function of its arguments.
 *
 * @param elements of the bucket, padding included
 * @param lineElements the elements of a cache line
 * @param ranks that share the bucket
 */
public record BucketDivision(long elements, long lineElements, int ranks) {
    /** The bytes of a cache line, on which each gradient begins. */
    public static final long ALIGNMENT_BYTES = 64;

    /** The part of a rank. */
    public ShardRange part(int rank) {
        ShardRange lines = ShardRange.of(elements / lineElements, ranks, rank);
        return new ShardRange(lines.offset() * lineElements, lines.length() * lineElements);
    }

    /** The elements of each rank's part. */
    public long[] partElements() {
        long[] parts = new long[ranks];
        for (int rank = 0; rank < ranks; rank++) {
            parts[rank] = part(rank).length();
        }
        return parts;
    }
}
