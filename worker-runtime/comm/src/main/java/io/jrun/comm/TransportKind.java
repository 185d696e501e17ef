package io.jrun.comm;

/** How the ranks of a world move data. */
public enum TransportKind {
    /** Shared memory between ranks of one node, TCP between nodes. */
    AUTO,
    /** Shared memory; an error where ranks are on several nodes. */
    SHM,
    /** TCP, also between ranks of one node. */
    TCP
}
