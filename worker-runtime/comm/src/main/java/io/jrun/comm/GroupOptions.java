package io.jrun.comm;

import java.time.Duration;

/**
 * What a group promises and how long it waits.
 *
 * @param timeout every operation fails with COLLECTIVE_TIMEOUT when it has run for longer
 * @param deterministic floating point results depend on the contributions and the group size only, not on transport,
 *     topology, or how data is split into operations; alike on all members
 * @param lateWarning an operation that has run for longer says on stderr which ranks it waits for, once, and goes on
 * @param backend what moves the data: {@value #OWN_BACKEND}, or the name of a {@code BackendProvider}
 *     (gloo, mpi, nccl); alike on all members
 * @param algorithm over TCP, for every operation that has it, whatever its size, as JRUN_ALGORITHM names one for all groups;
 *     empty: chosen by size; alike on all members
 * @param compared whether the ranks compare each collective before a backend other than jrun's own runs it, see
 *     {@code ForeignBackend}; jrun's own always compares; alike on all members
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

    /** Longer than any program runs, and still far from the end of a 64-bit clock of nanoseconds. */
    private static final Duration LONGEST = Duration.ofDays(36_500);

    /** Ten minutes: longer than any checkpoint that one rank writes while the others wait. The warning after one. */
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

    /** {@code timeout}, or a hundred years if the timeout is longer: programs write "for ever" as a very long duration. */
    public static Duration bounded(Duration timeout) {
        return timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout;
    }

    /** The same with another timeout. */
    public GroupOptions withTimeout(Duration newTimeout) {
        return new GroupOptions(newTimeout, deterministic, lateWarning, backend, algorithm, compared);
    }

    /** The same with another determinism. */
    public GroupOptions withDeterministic(boolean newDeterministic) {
        return new GroupOptions(timeout, newDeterministic, lateWarning, backend, algorithm, compared);
    }

    /** The same with another time before the warning. */
    public GroupOptions withLateWarning(Duration newLateWarning) {
        return new GroupOptions(timeout, deterministic, newLateWarning, backend, algorithm, compared);
    }

    /** The same on another backend. */
    public GroupOptions withBackend(String newBackend) {
        return new GroupOptions(timeout, deterministic, lateWarning, newBackend, algorithm, compared);
    }

    /** The same with one algorithm for all sizes. */
    public GroupOptions withAlgorithm(String newAlgorithm) {
        return new GroupOptions(timeout, deterministic, lateWarning, backend, newAlgorithm, compared);
    }

    /** The same, but with or without comparing calls on another backend: a benchmark of that backend does without. */
    public GroupOptions withCompared(boolean newCompared) {
        return new GroupOptions(timeout, deterministic, lateWarning, backend, algorithm, newCompared);
    }
}
