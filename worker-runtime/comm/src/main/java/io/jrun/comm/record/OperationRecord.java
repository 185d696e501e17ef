package io.jrun.comm.record;

/**
 * One operation of one rank. All times count back from the time of the record, so no two clocks are compared.
 *
 * @param group name of the group
 * @param sequence number of the operation: collectives are numbered for each group, messages for each direction between
 *     two ranks
 * @param name name of the method: {@code allReduce}, {@code send} and so on
 * @param type type of the elements
 * @param count number of the elements
 * @param call the operation with all arguments, in the form of error messages
 * @param peer group rank at the other end of a message; -1 for a receive from any rank, and for collectives
 * @param tag tag of a message; 0 for collectives
 * @param queuedAgoNanos time since the call of the operation
 * @param startedAgoNanos time since the start of the operation; {@link #NEVER} if it has not started
 * @param endedAgoNanos time since the end of the operation; {@link #NEVER} if it has not ended, or if it was too small
 *     for a reading of the clock and has not waited
 * @param lateRank world rank of the rank that came last, if this rank had to wait for that rank; else -1
 * @param lateNanos time this rank waited for that rank, counted from this rank's own start
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
    /** In place of a time that does not exist. */
    public static final long NEVER = -1;

    private static final double NANOS_PER_SECOND = 1e9;

    /** Whether only two ranks take part. */
    public boolean isMessage() {
        return isSend() || name.equals("recv");
    }

    /** Whether the operation sends a message. */
    public boolean isSend() {
        return name.equals("send");
    }

    /** Whether the operation receives a message from any rank. */
    public boolean isFromAny() {
        return isMessage() && peer < 0;
    }

    /** Whether the operation has started without success: it runs, or has failed. */
    public boolean isUnfinished() {
        return state == OperationState.STARTED || state == OperationState.FAILED;
    }

    /** Whether the rank has waited for another rank in the operation. */
    public boolean hasWaited() {
        return lateRank >= 0;
    }

    /**
     * Nanoseconds from the start of the operation to its end, or to the record; 0 if it has not started or its end is
     * unknown.
     */
    public long ranNanos() {
        boolean known = startedAgoNanos != NEVER && (endedAgoNanos != NEVER || state == OperationState.STARTED);
        return known ? startedAgoNanos - Math.max(endedAgoNanos, 0) : 0;
    }

    /**
     * Returns the predicate of "rank 3 ...".
     *
     * @param label the group for messages, see {@link GroupRecord#label()}
     */
    String place(String label) {
        String operation = call + " on " + label;
        return switch (state) {
            case QUEUED -> "has called " + operation;
            case STARTED -> "has been in " + operation + " for " + Math.round(ranNanos() / NANOS_PER_SECOND) + " s";
            case COMPLETED -> "has completed " + operation;
            case FAILED -> "has failed in " + operation;
        };
    }
}
