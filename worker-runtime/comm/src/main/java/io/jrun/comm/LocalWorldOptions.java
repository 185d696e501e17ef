package io.jrun.comm;

import java.time.Duration;

/**
 * How a {@link LocalWorld} runs.
 *
 * @param size number of ranks
 * @param transport how they move data; AUTO is shared memory
 * @param deterministic as {@link GroupOptions#deterministic()}
 * @param timeout of every operation, and of the wait for the other ranks once one has failed
 */
public record LocalWorldOptions(int size, TransportKind transport, boolean deterministic, Duration timeout) {
    /** {@code size} ranks over shared memory, operations limited to a minute. */
    public static LocalWorldOptions ofSize(int size) {
        return new LocalWorldOptions(size, TransportKind.AUTO, false, Duration.ofMinutes(1));
    }

    public LocalWorldOptions {
        if (size < 1) {
            throw new CommException(ErrorCode.USAGE, "local world of " + size + " ranks (expected 1 or more)");
        }
    }

    /** The same over another transport. */
    public LocalWorldOptions withTransport(TransportKind newTransport) {
        return new LocalWorldOptions(size, newTransport, deterministic, timeout);
    }

    /** The same with another timeout. */
    public LocalWorldOptions withTimeout(Duration newTimeout) {
        return new LocalWorldOptions(size, transport, deterministic, newTimeout);
    }

    /** The same with another determinism. */
    public LocalWorldOptions withDeterministic(boolean newDeterministic) {
        return new LocalWorldOptions(size, transport, newDeterministic, timeout);
    }
}
