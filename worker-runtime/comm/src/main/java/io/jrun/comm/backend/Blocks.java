package io.jrun.comm.backend;

import java.util.Arrays;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * How the elements of a buffer are divided among ranks: one block each, one behind the other in rank order unless placed
 * {@link #at} other offsets. Blocks may be empty. Immutable.
 */
public final class Blocks {
    /** Of a buffer that is not divided. */
    public static final Blocks NONE = new Blocks(0, 1, null, null);

    /** Messages list the sizes of so many blocks. */
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

    /** {@code parts} blocks as even as whole elements allow: the first {@code total % parts} have one element more. */
    public static Blocks cut(long total, int parts) {
        return new Blocks(total, parts, null, null);
    }

    /** {@code parts} blocks of {@code count} elements. */
    public static Blocks equal(long count, int parts) {
        return new Blocks(count * parts, parts, null, null);
    }

    /**
     * Blocks of these sizes.
     *
     * @throws ArithmeticException if they exceed 64 bits together
     */
    public static Blocks of(long... counts) {
        long[] offsets = new long[counts.length + 1];
        for (int block = 0; block < counts.length; block++) {
            offsets[block + 1] = Math.addExact(offsets[block], counts[block]);
        }
        boolean areEqual = counts.length > 0 && LongStream.of(counts).allMatch(count -> count == counts[0]);
        return new Blocks(offsets[counts.length], counts.length, areEqual ? null : offsets, null);
    }

    /** Blocks of these sizes of which each begins where {@code newOffsets} says, in a buffer that may hold other things. */
    public Blocks at(long... newOffsets) {
        return new Blocks(total, parts, newOffsets.clone(), counts().toArray());
    }

    /** Number of blocks. */
    public int parts() {
        return parts;
    }

    /** Elements in all blocks. */
    public long total() {
        return total;
    }

    /** Elements from the buffer's begin to the end of the last block: more than {@link #total} where blocks lie apart. */
    public long extent() {
        return lengths == null
                ? total
                : LongStream.range(0, parts)
                        .map(block -> offset((int) block) + lengths[(int) block])
                        .max()
                        .orElse(0);
    }

    /** Elements before a block; {@code block} may be the number of blocks if they lie one behind the other. */
    public long offset(int block) {
        return offsets != null ? offsets[block] : block * (total / parts) + Math.min(block, total % parts);
    }

    /** Elements in a block. */
    public long count(int block) {
        return lengths != null ? lengths[block] : offset(block + 1) - offset(block);
    }

    /** Whether they lie one behind the other and are known to be all of one size. */
    public boolean areEqual() {
        return offsets == null && total % parts == 0;
    }

    /** Elements in the longest block. */
    public long longest() {
        // Of a cut, the first.
        return offsets == null ? count(0) : counts().max().orElse(0);
    }

    /** The blocks counted from block {@code first} on, as trees count ranks from their root. */
    public Blocks from(int first) {
        return areEqual()
                ? this
                : of(LongStream.range(0, parts)
                        .map(block -> count((int) ((first + block) % parts)))
                        .toArray());
    }

    /** A number that differs, as good as always, between blocks of different sizes; never 0. */
    public long checksum() {
        long sum = 1;
        for (int block = 0; block < parts; block++) {
            // Multiplying by an odd number and mixing the upper half down is one to one, so a single difference always
            // shows.
            sum = (sum + count(block)) * 0x9e3779b97f4a7c15L;
            sum ^= sum >>> 32;
        }
        return sum == 0 ? 1 : sum;
    }

    /** The sizes for messages: {@code 3 0 5}. */
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
