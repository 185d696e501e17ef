package io.jrun.comm.tcp;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.BackendFactory;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.WorldContext;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Makes TCP backends for one rank. It owns the rank's listener and the one thread that opens connections. Thread-safe.
 *
 * <p>Every connection begins with a mutual proof of knowing the job secret, see docs/algorithms.md. What follows is
 * protected in transit only where {@link TcpOptions#encrypted} says so.
 */
public final class TcpBackendFactory implements BackendFactory {
    private final ConnectionSetup setup;
    private final TcpOptions options;

    private TcpBackendFactory(ConnectionSetup setup, TcpOptions options) {
        this.setup = setup;
        this.options = options;
    }

    /**
     * Begins to accept connections.
     *
     * @param world with a listener, which this owns from now on
     * @param options set alike on every rank
     * @throws CommException SYSTEM if the world has no listener or the machine refuses a selector
     */
    public static TcpBackendFactory start(WorldContext world, TcpOptions options) {
        Consumer<String> log = line -> System.err.println("jrun: rank " + world.rank() + ": " + line);
        return start(world, options, log, ConnectionSetup.HANDSHAKE_TIMEOUT);
    }

    /** As above; {@code log} takes a line about each kind of caller that was refused, late ones included. */
    static TcpBackendFactory start(
            WorldContext world, TcpOptions options, Consumer<String> log, Duration handshakeTimeout) {
        ServerSocketChannel listener = world.listener()
                .orElseThrow(() -> new CommException(
                        ErrorCode.SYSTEM,
                        "rank " + world.rank()
                                + " has no listener for the TCP data plane; it must bind before it joins"));
        Optional<Tls> tls = options.encrypted() ? Optional.of(Tls.create()) : Optional.empty();
        return new TcpBackendFactory(ConnectionSetup.start(world, listener, log, handshakeTimeout, tls), options);
    }

    @Override
    public Backend create(GroupContext group) {
        return create(group, _ -> {}, Set.of());
    }

    /**
     * As above, for the part of a data plane that has others.
     *
     * @param onFailure told at once why the group fails, by any thread, also while nothing runs here
     * @param alwaysTold group ranks that hear of a failure even if there is no connection with them
     */
    public Backend create(GroupContext group, Consumer<CommException> onFailure, Set<Integer> alwaysTold) {
        return TcpBackend.open(group, setup, options, onFailure, alwaysTold);
    }

    /** How its backends work. */
    public TcpOptions options() {
        return options;
    }

    @Override
    public void close() {
        setup.close();
    }
}
