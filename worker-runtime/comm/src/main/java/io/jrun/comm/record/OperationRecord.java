package io.jrun.comm.record;

/**
 * One operation of one rank. The times count back from the moment of the record, so that no two clocks are compared.
 *
 * @param group name of the group
 * @param sequence number of the operation: collectives are numbered for each group, messages for each direction between two
 *     ranks
 * @param name name of the method: {@code allReduce}, {@code send} and so on
 * @param type type of the elements
 * @param count number of the elements
 * @param call the operation with all arguments, as error messages name it
 * @param peer group rank at the other end of a message; -1 for a receive from any rank, and for collectives
 * @param tag tag of a message; 0 for collectives
 * @param queuedAgoNanos since when the operation was called
 * @param startedAgoNanos since when the operation has run; {@link #NEVER} if it has not started
 * @param endedAgoNanos since when the operation is over; {@link #NEVER} if it is not, or if it was too small for a look at the
 *     clock
 * @param lateRank world rank of the rank that came last, if this rank had to wait for that rank; else -1
 * @param lateNanos how long this rank waited for that rank, from its own start on
 */
public record OperationRecord(
        String group,
        long sequence,
        String name,
        String type,
        long count,
        String call,
        int peer,
        int tag,
        OperationState state,
        long queuedAgoNanos,
        long startedAgoNanos,
        long endedAgoNanos,
        int lateRank,
        long lateNanos) {
    /** In place of a time that has not come. */
    public static final long NEVER = -1;

    private static final double NANOS_PER_SECOND = 1e9;

    /** Whether two ranks take part rather than the whole group. */
    public boolean isMessage() {
        return isSend() || name.equals("recv");
    }

    /** Whether the operation sends a message. */
    public boolean isSend() {
        return name.equals("send");
    }

    /** Whether the operation takes a message of any rank that sends one. */
    public boolean isFromAny() {
        return isMessage() && peer < 0;
    }

    /** Whether the operation has begun and did not reach its end. */
    public boolean isUnfinished() {
        return state == OperationState.STARTED || state == OperationState.FAILED;
    }

    /** Whether the rank had to wait in the operation for another rank to come. */
    public boolean hasWaited() {
        return lateRank >= 0;
    }

    /** From the start of the operation to its end, or to the record; 0 if it has not started, or if its end is unknown. */
    public long ranNanos() {
        boolean known = startedAgoNanos != NEVER && (endedAgoNanos != NEVER || state == OperationState.STARTED);
        return known ? startedAgoNanos - Math.max(endedAgoNanos, 0) : 0;
    }

    /** The call with its group, for messages. */
    public String describe() {
        return call + " on group " + group;
    }

    /** Completes "rank 3 ...". */
    String place() {
        return switch (state) {
            case QUEUED -> "has called " + describe();
            case STARTED -> "has been in " + describe() + " for " + Math.round(ranNanos() / NANOS_PER_SECOND) + " s";
            case COMPLETED -> "has completed " + describe();
            case FAILED -> "has failed in " + describe();
        };
    }
}
