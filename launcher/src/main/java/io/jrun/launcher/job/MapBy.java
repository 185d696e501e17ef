package io.jrun.launcher.job;

/** In which order ranks are dealt to nodes. */
public enum MapBy {
    /** A node's workers together, node after node. */
    SLOT,
    /** One to each node in turn, as long as it has room. */
    NODE
}
