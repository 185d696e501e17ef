package io.jrun.comm.backend;

import java.util.Arrays;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * The division of a buffer into one block for each rank. The blocks are contiguous in rank order, unless {@link #at}
 * gives other offsets. A block may be empty. Immutable.
 */
public final class Blocks {
    /** The blocks of a buffer that is not divided. */
    public static final Blocks NONE = new Blocks(0, 1, null, null);

    /** The largest number of blocks whose sizes a message lists. */
    private static final int MAX_LISTED = 16;

    private final long total;
    private final int parts;
    private final long @Nullable [] offsets;
    private final long @Nullable [] lengths;

    private Blocks(long total, int parts, long @Nullable [] offsets, long @Nullable [] lengths) {
        this.total = total;
        this.parts = parts;
        this.offsets = offsets;
        this.lengths = lengths;
    }

    /**
     * Makes {@code parts} blocks as even as whole elements allow: the first {@code total % parts} blocks have one
     * element more.
     */
    public static Blocks cut(long total, int parts) {
        return new Blocks(total, parts, null, null);
    }

    /** Makes {@code parts} blocks of {@code count} elements. */
    public static Blocks equal(long count, int parts) {
        return new Blocks(count * parts, parts, null, null);
    }

    /**
     * Makes blocks of these sizes.
     *
     * @throws ArithmeticException if the sizes exceed 64 bits in total
     */
    public static Blocks of(long... counts) {
        long[] offsets = new long[counts.length + 1];
        for (int block = 0; block < counts.length; block++) {
            offsets[block + 1] = Math.addExact(offsets[block], counts[block]);
        }
        boolean areEqual = counts.length > 0 && LongStream.of(counts).allMatch(count -> count == counts[0]);
        return new Blocks(offsets[counts.length], counts.length, areEqual ? null : offsets, null);
    }

    /**
     * Returns blocks of the same sizes at {@code newOffsets}, in a buffer that may have other content between the
     * blocks.
     */
    public Blocks at(long... newOffsets) {
        return new Blocks(total, parts, newOffsets.clone(), counts().toArray());
    }

    /** Number of blocks. */
    public int parts() {
        return parts;
    }

    /** Number of elements in all blocks. */
    public long total() {
        return total;
    }

    /**
     * Number of elements from the start of the buffer to the end of the last block: above {@link #total} if there are
     * gaps.
     */
    public long extent() {
        return lengths == null
                ? total
                : LongStream.range(0, parts)
                        .map(block -> offset((int) block) + lengths[(int) block])
                        .max()
                        .orElse(0);
    }

    /** Number of elements before a block. {@code block} may be the number of blocks if the blocks are contiguous. */
    public long offset(int block) {
        return offsets != null ? offsets[block] : block * (total / parts) + Math.min(block, total % parts);
    }

    /** Number of elements in a block. */
    public long count(int block) {
        return lengths != null ? lengths[block] : offset(block + 1) - offset(block);
    }

    /** Whether the blocks are contiguous and known to be of one size. */
    public boolean areEqual() {
        return offsets == null && total % parts == 0;
    }

    /** Number of elements in the longest block. */
    public long longest() {
        // The first block of an even division is the longest.
        return offsets == null ? count(0) : counts().max().orElse(0);
    }

    /** Returns the blocks rotated to begin with block {@code first}, because trees number ranks from their root. */
    public Blocks from(int first) {
        return areEqual()
                ? this
                : of(LongStream.range(0, parts)
                        .map(block -> count((int) ((first + block) % parts)))
                        .toArray());
    }

    /** A hash of the sizes. Different sizes have different hashes with very high probability. Never 0. */
    public long checksum() {
        long sum = 1;
        for (int block = 0; block < parts; block++) {
            // Multiplication by an odd number and mixing the upper half down are one to one, so a single difference
            // always
            // changes the sum.
            sum = (sum + count(block)) * 0x9e3779b97f4a7c15L;
            sum ^= sum >>> 32;
        }
        return sum == 0 ? 1 : sum;
    }

    /** Describes the sizes for messages: {@code 3 0 5}. */
    public String describe() {
        String listed = counts().limit(MAX_LISTED).mapToObj(Long::toString).collect(Collectors.joining(" "));
        return parts > MAX_LISTED ? listed + " ..." : listed;
    }

    private LongStream counts() {
        return LongStream.range(0, parts).map(block -> count((int) block));
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Blocks that
                && total == that.total
                && parts == that.parts
                && Arrays.equals(counts().toArray(), that.counts().toArray());
    }

    @Override
    public int hashCode() {
        return Long.hashCode(checksum());
    }
}
