package io.jrun.comm;

import java.time.Duration;

/**
 * The guarantees and time limits of a group. Every member of a group gives equal values where a parameter says so.
 *
 * @param timeout longest time of an operation; a longer operation fails with COLLECTIVE_TIMEOUT
 * @param deterministic whether floating point results depend only on the contributions and the group size, and not on
 *     the transport, the topology, or the division of the data into operations; equal on all members
 * @param lateWarning time after which a running operation writes one warning to stderr with the ranks it waits for
 * @param backend implementation that moves the data: {@value #OWN_BACKEND}, {@value #OWN_DEVICE_PLANE}, or the name of a
 *     {@code BackendProvider}
 *     (gloo, mpi, nccl); equal on all members
 * @param algorithm TCP algorithm for every operation that has the algorithm, at every size; overrides JRUN_ALGORITHM
 *     for this group; empty: the size decides; equal on all members
 * @param compared whether the ranks compare each collective before a backend other than jrun's own runs the collective,
 *     see {@code ForeignBackend}; jrun's own backend always compares; equal on all members
 */
public record GroupOptions(
        Duration timeout,
        boolean deterministic,
        Duration lateWarning,
        String backend,
        String algorithm,
        boolean compared) {
    /** jrun's own data planes: shared memory and TCP. */
    public static final String OWN_BACKEND = "jrun";

    /** jrun's own data planes also for memory of GPUs, where {@value #OWN_BACKEND} may choose NCCL. */
    public static final String OWN_DEVICE_PLANE = "jrun-only";

    /** A duration longer than the run of any program, and far below the limit of a 64-bit clock of nanoseconds. */
    private static final Duration LONGEST = Duration.ofDays(36_500);

    /** The defaults: a timeout of ten minutes, longer than one rank's checkpoint takes; a warning after one minute. */
    public static final GroupOptions DEFAULT =
            new GroupOptions(Duration.ofMinutes(10), false, Duration.ofMinutes(1), OWN_BACKEND, "", true);

    public GroupOptions {
        timeout = bounded(timeout);
        lateWarning = bounded(lateWarning);
        if (timeout.isZero() || timeout.isNegative()) {
            throw new CommException(ErrorCode.USAGE, "group timeout is " + timeout + " (expected a positive duration)");
        }
        if (lateWarning.isZero() || lateWarning.isNegative()) {
            throw new CommException(
                    ErrorCode.USAGE, "late warning after " + lateWarning + " (expected a positive duration)");
        }
    }

    /** Returns {@code timeout}, but at most a hundred years. Programs use very long durations to mean no limit. */
    public static Duration bounded(Duration timeout) {
        return timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout;
    }

    /** Returns these options with another timeout. */
    public GroupOptions withTimeout(Duration newTimeout) {
        return new GroupOptions(newTimeout, deterministic, lateWarning, backend, algorithm, compared);
    }

    /** Returns these options with another choice of determinism. */
    public GroupOptions withDeterministic(boolean newDeterministic) {
        return new GroupOptions(timeout, newDeterministic, lateWarning, backend, algorithm, compared);
    }

    /** Returns these options with another time before the warning. */
    public GroupOptions withLateWarning(Duration newLateWarning) {
        return new GroupOptions(timeout, deterministic, newLateWarning, backend, algorithm, compared);
    }

    /** Returns these options with another backend. */
    public GroupOptions withBackend(String newBackend) {
        return new GroupOptions(timeout, deterministic, lateWarning, newBackend, algorithm, compared);
    }

    /** Returns these options with one algorithm for all sizes. */
    public GroupOptions withAlgorithm(String newAlgorithm) {
        return new GroupOptions(timeout, deterministic, lateWarning, backend, newAlgorithm, compared);
    }

    /** Returns these options with or without the comparison of calls. A benchmark of a foreign backend turns it off. */
    public GroupOptions withCompared(boolean newCompared) {
        return new GroupOptions(timeout, deterministic, lateWarning, backend, algorithm, newCompared);
    }
}
