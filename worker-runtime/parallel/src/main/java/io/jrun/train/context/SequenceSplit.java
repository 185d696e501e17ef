package io.jrun.train.context;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/**
 * Divides the positions of a sequence among the ranks. A pure function.
 *
 * @param ranks number of ranks that share the sequence
 * @param isZigzag whether rank r has the chunks r and 2 * ranks - 1 - r of 2 * ranks equal chunks. All ranks then have
 *     equal work in causal attention. Else rank r has the r-th of {@code ranks} equal chunks
 */
public record SequenceSplit(int ranks, boolean isZigzag) {
    /**
     * A product of some queries of a rank with some keys of a rank. Offsets count in the rank's own tokens.
     *
     * @param isCausal whether query i sees the keys up to i only; the numbers of queries and keys are then equal
     */
    record Block(long queryOffset, long queries, long keyOffset, long keys, boolean isCausal) {}

    /**
     * The number of tokens of each rank.
     *
     * @throws IllegalArgumentException if the ranks cannot have equal chunks of {@code length} tokens
     */
    public long localLength(long length) {
        int chunks = isZigzag ? 2 * ranks : ranks;
        if (length % chunks != 0) {
            throw new IllegalArgumentException("a sequence of " + length + " tokens cannot be shared by " + ranks
                    + " context parallel ranks: " + chunks
                    + " equal chunks are needed. Choose a length that is a multiple of "
                    + chunks + ".");
        }
        return length / ranks;
    }

    /** The positions in the whole sequence of a rank's tokens, ascending. */
    public long[] positions(long length, int rank) {
        long local = localLength(length);
        if (!isZigzag) {
            return LongStream.range(rank * local, (rank + 1) * local).toArray();
        }
        long chunk = local / 2;
        long second = 2L * ranks - 1 - rank;
        return LongStream.concat(
                        LongStream.range(rank * chunk, (rank + 1) * chunk),
                        LongStream.range(second * chunk, (second + 1) * chunk))
                .toArray();
    }

    /**
     * The blocks that a rank computes with the keys of another rank.
     *
     * @param local number of tokens of each rank
     */
    List<Block> blocks(int queryRank, int keyRank, long local, boolean isCausal) {
        if (!isCausal) {
            return List.of(new Block(0, local, 0, local, false));
        }
        if (keyRank == queryRank) {
            return List.of(new Block(0, local, 0, local, true));
        }
        long half = local / 2;
        List<Block> blocks = new ArrayList<>();
        if (!isZigzag && keyRank < queryRank) {
            blocks.add(new Block(0, local, 0, local, false));
        } else if (isZigzag && keyRank < queryRank) {
            blocks.add(new Block(0, local, 0, half, false)); // the second chunk of the keys comes after all queries
        } else if (isZigzag) {
            blocks.add(new Block(half, half, 0, local, false)); // the first chunk of the queries comes before all keys
        }
        return blocks;
    }
}
