package io.jrun.comm.local;

import io.jrun.comm.CommException;
import io.jrun.comm.Device;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.ThrowingConsumer;
import io.jrun.comm.World;
import io.jrun.comm.backend.Deadline;
import io.jrun.comm.backend.ListenerSocket;
import io.jrun.comm.backend.PausePoint;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Control;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.group.GroupRegistry;
import io.jrun.comm.join.JoinedWorld;
import io.jrun.comm.join.LocalCoordinator;
import io.jrun.comm.join.TransportSelection;
import io.jrun.comm.join.WorldIdentity;
import java.net.InetAddress;
import java.nio.channels.ServerSocketChannel;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Runs N ranks as threads of this JVM, with the code that otherwise runs as N processes. Each rank has its own
 * connections and memory mappings. For tests and debuggers.
 */
public final class LocalWorld {
    private static final int SECRET_BYTES = 32;
    private static final String HOST = "localhost";

    /** The hooks of a test in the ranks of a world. */
    public interface Interference {
        /** No hooks. */
        Interference NONE = new Interference() {};

        /** Returns the port that the other ranks get, such as the port of a proxy in front of the rank's own port. */
        default int portBefore(int rank, int port) {
            return port;
        }

        /**
         * Returns the point at which a rank pauses.
         *
         * @param coordinator coordinator that notifies the other ranks of this rank's end
         */
        default PausePoint pauseOf(int rank, LocalCoordinator coordinator) {
            return PausePoint.NONE;
        }
    }

    private final LocalWorldOptions options;
    private final Interference interference;
    private final ThrowingConsumer<World> body;
    private final LocalCoordinator coordinator = new LocalCoordinator();
    private final List<Throwable> failures = new CopyOnWriteArrayList<>();
    private final List<ServerSocketChannel> listeners = new ArrayList<>();
    private final String runId;
    private final Bytes secret;

    private LocalWorld(LocalWorldOptions options, Interference interference, ThrowingConsumer<World> body) {
        this.options = options;
        this.interference = interference;
        this.body = body;
        byte[] random = new byte[SECRET_BYTES];
        new SecureRandom().nextBytes(random);
        this.secret = Bytes.of(random);
        this.runId = "local-" + HexFormat.of().formatHex(random, 0, Integer.BYTES);
    }

    /** Runs {@code body} on {@code size} ranks with the default options. */
    public static void run(int size, ThrowingConsumer<World> body) {
        run(LocalWorldOptions.ofSize(size), body);
    }

    /**
     * Runs {@code body} on every rank and returns when all ranks have returned. When a rank throws, the operations of
     * the other ranks fail with ABORTED. Then the first failure is thrown, with the other failures suppressed in it.
     *
     * @throws CommException SYSTEM, with the first failure as its cause, if that is a checked exception
     */
    public static void run(LocalWorldOptions options, ThrowingConsumer<World> body) {
        run(options, Interference.NONE, body);
    }

    /** Runs {@code body} with the hooks of a test. */
    public static void run(LocalWorldOptions options, Interference interference, ThrowingConsumer<World> body) {
        LocalWorld local = new LocalWorld(options, interference, body);
        try (LocalCoordinator _ = local.coordinator) {
            local.runRanks();
        } finally {
            local.listeners.forEach(ListenerSocket::close);
        }
        local.rethrow();
    }

    private void runRanks() {
        List<Peer> peers = peers();
        List<Thread> threads = new ArrayList<>();
        for (int rank = 0; rank < options.size(); rank++) {
            int self = rank;
            threads.add(Thread.ofPlatform().daemon().name("rank-" + rank).unstarted(() -> runRank(self, peers)));
        }
        threads.forEach(Thread::start);
        threads.forEach(this::join);
    }

    private List<Peer> peers() {
        long pid = ProcessHandle.current().pid();
        String address = InetAddress.getLoopbackAddress().getHostAddress();
        List<Peer> peers = new ArrayList<>();
        boolean listens = TransportSelection.needsListener(
                options.transport(), options.nodeSizes().size());
        for (int node = 0; node < options.nodeSizes().size(); node++) {
            for (int localRank = 0; localRank < options.nodeSizes().get(node); localRank++) {
                int port = listens ? interference.portBefore(peers.size(), listen()) : 0;
                peers.add(new Peer(peers.size(), node, localRank, HOST, address, port, pid));
            }
        }
        return peers;
    }

    private int listen() {
        ServerSocketChannel listener = ListenerSocket.open(true);
        listeners.add(listener);
        return ListenerSocket.port(listener);
    }

    private void runRank(int rank, List<Peer> peers) {
        try {
            joinAndRun(rank, peers);
        } catch (Throwable failure) {
            failures.add(failure);
            coordinator.abort("rank " + rank + " failed: " + failure);
        }
    }

    private void joinAndRun(int rank, List<Peer> peers) {
        Peer self = peers.get(rank);
        int nodeCount = options.nodeSizes().size();
        WorldIdentity identity = new WorldIdentity(
                rank,
                options.size(),
                self.localRank(),
                options.nodeSizes().get(self.nodeRank()),
                self.nodeRank(),
                nodeCount,
                HOST,
                runId,
                0,
                Device.CPU);
        Optional<ServerSocketChannel> listener =
                listeners.isEmpty() ? Optional.empty() : Optional.of(listeners.get(rank));
        GroupRegistry registry = new GroupRegistry(
                TransportSelection.of(options.transport(), nodeCount, options.tcp()), Optional.empty(), false);
        Control control = coordinator.connect(rank, registry);
        PausePoint pause = interference.pauseOf(rank, coordinator);
        // Simulated nodes share the cores of this machine.
        int nodeCores = Math.max(1, WorldContext.usableCores() / nodeCount);
        WorldContext context = new WorldContext(runId, 0, rank, secret, peers, listener, control, nodeCores, pause);
        GroupOptions groupOptions =
                GroupOptions.DEFAULT.withTimeout(options.timeout()).withDeterministic(options.deterministic());
        try (World world = new JoinedWorld(identity, context, control, registry, groupOptions)) {
            runBody(world);
        }
    }

    /** Runs the body. The other ranks are notified of a failure before this rank closes its groups. */
    private void runBody(World world) {
        try {
            body.accept(world);
        } catch (Throwable failure) {
            failures.add(failure);
            coordinator.abort("rank " + world.rank() + " failed: " + failure);
        }
    }

    /** Waits for a rank without limit until a rank has failed; then for one timeout. */
    private void join(Thread thread) {
        Duration interval = Duration.ofMillis(100);
        Deadline deadline = null;
        try {
            while (!thread.join(interval)) {
                if (deadline == null && !failures.isEmpty()) {
                    deadline = Deadline.after(options.timeout().plusSeconds(1));
                } else if (deadline != null && deadline.passed()) {
                    CommException stuck = new CommException(
                            ErrorCode.COLLECTIVE_TIMEOUT,
                            thread.getName() + " still runs " + options.timeout() + " after another rank has failed");
                    stuck.setStackTrace(thread.getStackTrace());
                    failures.add(stuck);
                    return;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            coordinator.abort("the thread that runs the local world was interrupted");
        }
    }

    private void rethrow() {
        if (failures.isEmpty()) {
            return;
        }
        Throwable first = failures.getFirst();
        failures.stream().filter(other -> !other.equals(first)).forEach(first::addSuppressed);
        switch (first) {
            case RuntimeException unchecked -> throw unchecked;
            case Error error -> throw error;
            default -> throw new CommException(ErrorCode.SYSTEM, "a rank failed: " + first, first);
        }
    }
}
