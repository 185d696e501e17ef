package io.jrun.comm;

/**
 * The kinds of failure of communication. No failure is retryable on the same group, because a failed group stays
 * poisoned.
 */
public enum ErrorCode {
    /**
     * An argument or a state of the caller is unusable: wrong size, unknown rank, closed group. Not used if ranks
     * disagree.
     */
    USAGE,
    /** The world was not joined, or a key of the store was not set, before the deadline. */
    RENDEZVOUS_TIMEOUT,
    /** A peer process ended, or left its main, while this rank waited for it. */
    PEER_LOST,
    /** A collective did not end before its deadline, although no peer is known to be lost. */
    COLLECTIVE_TIMEOUT,
    /** Two ranks called different operations at the same position of a group's order. */
    COLLECTIVE_MISMATCH,
    /** The job is being stopped, or the program aborted the group. */
    ABORTED,
    /** The operating system refused a resource: no space in /dev/shm, no socket, no permission. */
    SYSTEM
}
