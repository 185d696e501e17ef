package io.jrun.comm.timeline;

/**
 * A span of a step, or an operation of a group.
 *
 * @param name the name of the span ({@code forward}), or the method of the operation ({@code allReduce})
 * @param group the group of the operation with its ranks, such as {@code world|0-3}; empty for a span
 * @param number the step of a span, the sequence of an operation
 * @param beginNanos {@link System#nanoTime} of the rank's host
 * @param endNanos {@link System#nanoTime} of the rank's host; 0 while the operation runs. The begin for an
 *     operation of at most 4 KiB without a wait, for which the clock is not read again
 * @param lateRank the world rank for which this rank has waited, -1 without a wait
 * @param lateNanos the wait, from the begin
 * @param algorithm the algorithm of a collective, such as {@code ring}; empty if it is not known
 * @param peer the world rank at the other end of a message; -1 for other entries, and for a receive from any rank
 * @param tag the tag of a message; 0 for other entries
 */
public record TimelineEntry(
        Kind kind,
        State state,
        String name,
        String group,
        long number,
        long beginNanos,
        long endNanos,
        long bytes,
        String algorithm,
        int lateRank,
        long lateNanos,
        int peer,
        int tag) {

    /** The kind of an entry. */
    public enum Kind {
        SPAN(0),
        COLLECTIVE(1),
        MESSAGE(2);

        private final long code;

        Kind(long code) {
            this.code = code;
        }

        /** The number in the file. */
        long code() {
            return code;
        }
    }

    /** The state of an entry. */
    public enum State {
        RUNNING(0),
        COMPLETED(1),
        FAILED(2);

        private final long code;

        State(long code) {
            this.code = code;
        }

        /** The number in the file. */
        long code() {
            return code;
        }
    }

    /** The name of the group, without its ranks. */
    public String groupName() {
        int end = group.lastIndexOf('|');
        return end < 0 ? group : group.substring(0, end);
    }
}
