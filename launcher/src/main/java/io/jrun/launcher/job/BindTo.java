package io.jrun.launcher.job;

/** What workers are bound to. */
public enum BindTo {
    /** Nothing: the scheduler of the operating system chooses. */
    NONE,
    /** Cores of its own, the node's divided evenly. */
    CORE,
    /** A NUMA domain, shared with the workers that have the same. */
    NUMA
}
