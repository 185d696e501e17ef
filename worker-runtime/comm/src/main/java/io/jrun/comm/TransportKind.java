package io.jrun.comm;

/** The transport between the ranks of a world. */
public enum TransportKind {
    /** Shared memory between ranks of one node, TCP between nodes. */
    AUTO,
    /** Shared memory only; an error if the ranks are on several nodes. */
    SHM,
    /** TCP only, also between ranks of one node. */
    TCP
}
