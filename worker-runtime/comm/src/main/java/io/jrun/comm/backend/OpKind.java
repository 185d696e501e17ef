package io.jrun.comm.backend;

/** The operations of a group. Ranks compare the position of the constant: add constants at the end. */
public enum OpKind {
    /** Copies the root's buffer to every rank, in place. */
    BROADCAST("broadcast"),
    /** Gives every rank the reduction, in place. */
    ALL_REDUCE("allReduce"),
    /** Gives the root the reduction, in place. The buffers of the other ranks do not change. */
    REDUCE("reduce"),
    /** Gives every rank the blocks of all ranks, in rank order. */
    ALL_GATHER("allGather"),
    /** Gives rank r the reduction of block r of all ranks. */
    REDUCE_SCATTER("reduceScatter"),
    /** Gives the root the blocks of all ranks, in rank order. */
    GATHER("gather"),
    /** Gives rank r block r of the root. */
    SCATTER("scatter"),
    /** Gives rank r block r of every rank, in rank order. */
    ALL_TO_ALL("allToAll"),
    /** Sends one message to one rank. */
    SEND("send"),
    /** Receives one message from one rank. */
    RECV("recv"),
    /** No rank leaves before every rank has entered. */
    BARRIER("barrier"),
    /** Allocates registered memory of equal size on every rank. The count is in bytes. */
    ALLOCATE("allocate"),
    /** Allocates memory that all ranks map. The count is 0, because the sizes of the ranks may differ. */
    ALLOCATE_SHARED("allocateShared");

    private final String methodName;

    OpKind(String methodName) {
        this.methodName = methodName;
    }

    /** The name of the method in the API, for messages. */
    public String methodName() {
        return methodName;
    }

    /** Whether the operation reduces the ranks' contributions with a {@code ReduceOp}. */
    public boolean reduces() {
        return this == ALL_REDUCE || this == REDUCE || this == REDUCE_SCATTER;
    }

    /** Whether the call names one rank: the root, or the peer of a message. */
    public boolean hasRoot() {
        return this == BROADCAST || this == REDUCE || this == GATHER || this == SCATTER || isMessage();
    }

    /** Whether the operation has one buffer without blocks. */
    public boolean isInPlace() {
        return this == BROADCAST || this == ALL_REDUCE || this == REDUCE || isMessage();
    }

    /** Whether the operation moves no data and returns memory. */
    public boolean allocates() {
        return this == ALLOCATE || this == ALLOCATE_SHARED;
    }

    /** Whether only two ranks take part. */
    public boolean isMessage() {
        return this == SEND || this == RECV;
    }
}
