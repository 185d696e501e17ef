package io.jrun.launcher.job;

/** The order in which ranks are assigned to nodes. */
public enum MapBy {
    /** All workers of a node together, node after node. */
    SLOT,
    /** One rank on each node in turn, as long as the node has room. */
    NODE
}
