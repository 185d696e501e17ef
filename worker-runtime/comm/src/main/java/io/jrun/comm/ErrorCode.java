package io.jrun.comm;

/** The closed set of ways communication can fail. None is retryable on the same group: a failed group stays poisoned. */
public enum ErrorCode {
    /** The caller passed something unusable: wrong size, unknown rank, closed group. Not used for disagreement of ranks. */
    USAGE,
    /** Joining the world, or a store wait, passed its deadline. */
    RENDEZVOUS_TIMEOUT,
    /** A peer process ended, or left its main, while this rank waited for it. */
    PEER_LOST,
    /** A collective passed its deadline although no peer is known to be lost. */
    COLLECTIVE_TIMEOUT,
    /** Two ranks issued different operations at the same place of a group's order. */
    COLLECTIVE_MISMATCH,
    /** The job is being stopped, or the group was aborted by its own program. */
    ABORTED,
    /** The machine refused something: no space in /dev/shm, no socket, no permission. */
    SYSTEM
}
