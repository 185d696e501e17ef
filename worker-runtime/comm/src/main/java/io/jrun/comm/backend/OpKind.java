package io.jrun.comm.backend;

/** The operations of a group. The constant's place is part of the fingerprint that ranks compare: add at the end. */
public enum OpKind {
    /** Root's buffer to everybody, in place. */
    BROADCAST("broadcast"),
    /** Everybody gets the reduction, in place. */
    ALL_REDUCE("allReduce"),
    /** The root gets the reduction, in place; the others' buffers stay as they are. */
    REDUCE("reduce"),
    /** Everybody gets everybody's block, in rank order. */
    ALL_GATHER("allGather"),
    /** Rank r gets the reduction of everybody's block r. */
    REDUCE_SCATTER("reduceScatter"),
    /** The root gets everybody's block, in rank order. */
    GATHER("gather"),
    /** Rank r gets block r of the root. */
    SCATTER("scatter"),
    /** Rank r gets everybody's block r, in rank order. */
    ALL_TO_ALL("allToAll"),
    /** One message to one rank. */
    SEND("send"),
    /** One message from one rank. */
    RECV("recv"),
    /** Nobody leaves before everybody has entered. */
    BARRIER("barrier"),
    /** Registered memory of equal size on every rank; count is bytes. */
    ALLOCATE("allocate");

    private final String methodName;

    OpKind(String methodName) {
        this.methodName = methodName;
    }

    /** The name of the method that users call, for messages. */
    public String methodName() {
        return methodName;
    }

    /** Whether the ranks' contributions are combined, so that the {@code ReduceOp} means something. */
    public boolean reduces() {
        return this == ALL_REDUCE || this == REDUCE || this == REDUCE_SCATTER;
    }

    /** Whether the call names one rank: the root, or the peer of a message. */
    public boolean hasRoot() {
        return this == BROADCAST || this == REDUCE || this == GATHER || this == SCATTER || isMessage();
    }

    /** Whether there is one buffer, which has no block for each rank. */
    public boolean isInPlace() {
        return this == BROADCAST || this == ALL_REDUCE || this == REDUCE || isMessage();
    }

    /** Whether two ranks take part rather than the whole group. */
    public boolean isMessage() {
        return this == SEND || this == RECV;
    }
}
