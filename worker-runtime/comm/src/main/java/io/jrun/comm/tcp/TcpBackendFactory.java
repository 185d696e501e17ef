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
 * Makes the TCP backends of one rank. Owns the rank's listener and the thread that opens connections. Thread-safe.
 *
 * <p>Every connection begins with a mutual proof of the job secret, see docs/algorithms.md. Later bytes are encrypted
 * only if {@link TcpOptions#encrypted} is set.
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
     * @param world world with a listener; the factory owns the listener from now on
     * @param options equal on every rank
     * @throws CommException SYSTEM if the world has no listener or the operating system refuses a selector
     */
    public static TcpBackendFactory start(WorldContext world, TcpOptions options) {
        Consumer<String> log = line -> System.err.println("jrun: rank " + world.rank() + ": " + line);
        return start(world, options, log, ConnectionSetup.HANDSHAKE_TIMEOUT);
    }

    /** Begins to accept connections. {@code log} receives a line about each kind of refused caller. */
    static TcpBackendFactory start(
            WorldContext world, TcpOptions options, Consumer<String> log, Duration handshakeTimeout) {
        ServerSocketChannel listener = world.listener()
                .orElseThrow(() -> new CommException(
                        ErrorCode.SYSTEM,
                        "rank " + world.rank()
                                + " has no listener for the TCP data plane; bind the listener before the rank joins"));
        Optional<Tls> tls = options.encrypted() ? Optional.of(Tls.create()) : Optional.empty();
        return new TcpBackendFactory(ConnectionSetup.start(world, listener, log, handshakeTimeout, tls), options);
    }

    @Override
    public Backend create(GroupContext group) {
        return create(group, _ -> {}, Set.of());
    }

    /**
     * Makes a backend that is a part of another backend.
     *
     * @param onFailure receives the cause when the group fails, on any thread, also while no call runs
     * @param alwaysNotified group ranks that receive the cause of a failure even without a connection
     */
    public Backend create(GroupContext group, Consumer<CommException> onFailure, Set<Integer> alwaysNotified) {
        return TcpBackend.open(group, setup, options, onFailure, alwaysNotified);
    }

    /** Returns the options of the backends. */
    public TcpOptions options() {
        return options;
    }

    @Override
    public void close() {
        setup.close();
    }
}
