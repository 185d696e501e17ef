package io.jrun.comm;

import java.time.Duration;

/**
 * What a group promises and how long it waits.
 *
 * @param timeout every operation fails with COLLECTIVE_TIMEOUT when it has run for longer
 * @param deterministic floating point results depend on the contributions and the group size only, not on transport,
 *     topology, or how data is split into operations
 */
public record GroupOptions(Duration timeout, boolean deterministic) {
    /** Ten minutes: longer than any checkpoint that one rank writes while the others wait. */
    public static final GroupOptions DEFAULT = new GroupOptions(Duration.ofMinutes(10), false);

    public GroupOptions {
        if (timeout.isZero() || timeout.isNegative()) {
            throw new CommException(ErrorCode.USAGE, "group timeout is " + timeout + " (expected a positive duration)");
        }
    }

    /** The same with another timeout. */
    public GroupOptions withTimeout(Duration newTimeout) {
        return new GroupOptions(newTimeout, deterministic);
    }

    /** The same with another determinism. */
    public GroupOptions withDeterministic(boolean newDeterministic) {
        return new GroupOptions(timeout, newDeterministic);
    }
}
