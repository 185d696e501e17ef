package io.jrun.comm.control;

import java.util.Optional;

/**
 * Where a rank is.
 *
 * @param rank world rank
 * @param inside whether it is in the very operation that was asked about
 * @param place completes "rank 3 ...": {@code past allReduce #7(f32, 100, SUM) of group world and in nothing since}
 * @param stack of its main thread and of those that run operations, lines without an end of the last; empty if unknown
 * @param entered whether it has entered the operation that was asked about, and may have left it
 * @param awaiting what it waits for; empty if it does not, or nobody knows
 */
public record RankLocation(
        int rank, boolean inside, String place, String stack, boolean entered, Optional<BlockedOperation> awaiting) {
    /** Deeper stacks are cut here, so that a thousand of them are still a few megabytes. */
    public static final int MAX_TEXT = 8192;

    public RankLocation {
        place = cut(place);
        stack = cut(stack);
    }

    /** Where a rank is of which no more is known. */
    public RankLocation(int rank, boolean inside, String place, String stack) {
        this(rank, inside, place, stack, inside, Optional.empty());
    }

    /** The same, said of {@code rank}: the agent knows the rank of a worker, whatever the worker writes. */
    public RankLocation withRank(int rank) {
        return new RankLocation(rank, inside, place, stack, entered, awaiting);
    }

    private static String cut(String text) {
        return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT);
    }
}
