package io.jrun.comm.control;

/**
 * Where a rank is.
 *
 * @param rank world rank
 * @param inside whether it is in the very operation that was asked about
 * @param place completes "rank 3 ...": {@code past allReduce #7(f32, 100, SUM) of group world and in nothing since}
 * @param stack of its main thread and of those that run operations, lines without an end of the last; empty if unknown
 */
public record RankLocation(int rank, boolean inside, String place, String stack) {
    /** Deeper stacks are cut here, so that a thousand of them are still a few megabytes. */
    public static final int MAX_TEXT = 8192;

    public RankLocation {
        place = cut(place);
        stack = cut(stack);
    }

    private static String cut(String text) {
        return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT);
    }
}
