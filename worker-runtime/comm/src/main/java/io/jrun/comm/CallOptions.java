package io.jrun.comm;

import java.time.Duration;

/**
 * What a view of a group asks of its calls.
 *
 * @param timeout of each operation, from when it starts to run
 */
record CallOptions(Duration timeout) {
    CallOptions {
        if (timeout.isZero() || timeout.isNegative()) {
            throw new CommException(ErrorCode.USAGE, "call timeout is " + timeout + " (expected a positive duration)");
        }
    }

    static CallOptions of(GroupOptions group) {
        return new CallOptions(group.timeout());
    }
}
