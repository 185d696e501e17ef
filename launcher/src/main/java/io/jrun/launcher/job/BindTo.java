package io.jrun.launcher.job;

/** The CPUs to which workers are bound. */
public enum BindTo {
    /** No binding: the scheduler of the operating system chooses. */
    NONE,
    /** An equal part of the node's cores for each worker. */
    CORE,
    /** A NUMA domain, shared with the other workers of this domain. */
    NUMA,
    /** The cores near the worker's GPU, shared with the other workers near these cores. */
    GPU
}
