package io.jrun.comm;

/** How the ranks of a world move data. */
public enum TransportKind {
    /** Shared memory where all ranks are on one node, TCP otherwise. */
    AUTO,
    /** Shared memory; an error where ranks are on several nodes. */
    SHM,
    /** TCP, also between ranks of one node. */
    TCP
}
