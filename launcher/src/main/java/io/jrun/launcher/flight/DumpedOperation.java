package io.jrun.launcher.flight;

/**
 * One operation of one rank.
 *
 * @param name of the method: allReduce, send and so on
 * @param type of the elements
 * @param call with all arguments, as error messages name it
 * @param peer group rank at the other end of a message; -1 for a receive from any, and for collectives
 * @param tag of a message; else 0
 * @param waitedNanos from its start to its end, or to the dump; 0 if it has not started, or completed without a clock
 * @param lateRank world rank that came last, if this rank had to wait for it; else -1
 * @param lateNanos how long it waited
 */
record DumpedOperation(
        String group,
        long sequence,
        String name,
        String type,
        long count,
        String call,
        int peer,
        int tag,
        State state,
        long waitedNanos,
        int lateRank,
        long lateNanos) {
    /** How far it has come. */
    enum State {
        QUEUED,
        STARTED,
        COMPLETED,
        FAILED
    }

    boolean isMessage() {
        return isSend() || name.equals("recv");
    }

    boolean isSend() {
        return name.equals("send");
    }

    /** Whether it takes a message of whoever sends one. */
    boolean isFromAny() {
        return isMessage() && peer < 0;
    }

    /** Whether this rank had to wait for another one to come. */
    boolean hasWaited() {
        return lateRank >= 0;
    }

    /** Whether it has begun and did not reach its end. */
    boolean isUnfinished() {
        return state == State.STARTED || state == State.FAILED;
    }
}
