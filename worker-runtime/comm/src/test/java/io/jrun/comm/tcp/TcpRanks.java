package io.jrun.comm.tcp;

import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.BackendFactory;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupHealth;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.collective.AlgorithmSelector;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.hierarchy.HierarchicalBackendFactory;
import io.jrun.comm.shm.ShmBackendFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.random.RandomGenerator;

/**
 * N ranks in one JVM, each with a factory, a listener and a thread of its own, talking over loopback; below the level
 * of process groups, so that a test can hold one rank still, close it, or attack it.
 */
final class TcpRanks implements AutoCloseable {
    static final int ROUND = 7;
    static final Bytes SECRET = Bytes.ofUtf8("a secret that only these ranks know");
    /** Long enough for an honest caller on a loaded machine; a tardy one is waited for in one test only. */
    static final Duration HANDSHAKE_TIMEOUT = Duration.ofSeconds(3);

    private static final long HANG_SECONDS = 25;
    private static final int BACKLOG = 4096;

    /** The program of one rank. */
    interface Body {
        void run(Rank rank) throws Exception;
    }

    /** A proxy in front of a rank's listener. */
    interface Front {
        int portBefore(int rank, int listenerPort) throws IOException;
    }

    /** One rank: its place, its backend, the health that a process group would keep for it, and its channel. */
    record Rank(int rank, int size, Backend backend, GroupHealth health, long channel) {}

    private final List<Peer> peers = new ArrayList<>();
    private final List<ServerSocketChannel> listeners = new ArrayList<>();
    private final List<BackendFactory> factories = new ArrayList<>();
    private final List<Rank> ranks = new ArrayList<>();
    private final Set<Integer> left = ConcurrentHashMap.newKeySet();
    private final List<String> log = new CopyOnWriteArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    private final String runId =
            "test-" + Long.toHexString(RandomGenerator.getDefault().nextLong());

    private TcpRanks() {}

    static TcpRanks start(int size) {
        return start(size, Optional.empty(), false);
    }

    static TcpRanks start(int size, Optional<String> algorithm, boolean deterministic) {
        return start(size, algorithm, deterministic, (_, port) -> port);
    }

    /** Starts ranks that know the ports of {@code front} instead of each other's ports. */
    static TcpRanks start(int size, Front front) {
        return start(size, Optional.empty(), false, front);
    }

    /**
     * Starts ranks with TLS connections that know the ports of {@code front} instead of each other's ports.
     */
    static TcpRanks startEncrypted(int size, Front front) {
        return start(Collections.nCopies(size, TcpOptions.DEFAULT.withEncrypted(true)), false, front);
    }

    /** Ranks each with options of its own. */
    static TcpRanks start(List<TcpOptions> options) {
        return start(options, false, (_, port) -> port);
    }

    /** The same with one algorithm wherever an operation has it. */
    static TcpRanks start(int size, Optional<String> algorithm, boolean deterministic, Front front) {
        TcpOptions options = TcpOptions.DEFAULT.withSelector(AlgorithmSelector.of(algorithm));
        return start(Collections.nCopies(size, options), deterministic, front);
    }

    /** Ranks that believe to be on nodes, as many on each as {@code nodeSizes} says, and share memory there. */
    static TcpRanks startNodes(List<Integer> nodeSizes, TcpOptions options, Front front) {
        int size = nodeSizes.stream().mapToInt(Integer::intValue).sum();
        return startNodes(nodeSizes, Collections.nCopies(size, options), front);
    }

    /** The same with options of its own for each rank. */
    static TcpRanks startNodes(List<Integer> nodeSizes, List<TcpOptions> options, Front front) {
        return start(options, nodeSizes, false, front);
    }

    static TcpRanks start(List<TcpOptions> options, boolean deterministic, Front front) {
        return start(options, List.of(options.size()), deterministic, front);
    }

    private static TcpRanks start(
            List<TcpOptions> options, List<Integer> nodeSizes, boolean deterministic, Front front) {
        int size = options.size();
        TcpRanks world = new TcpRanks();
        try {
            for (int node = 0; node < nodeSizes.size(); node++) {
                for (int place = 0; place < nodeSizes.get(node); place++) {
                    ServerSocketChannel listener = ServerSocketChannel.open();
                    listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), BACKLOG);
                    world.listeners.add(listener);
                    int rank = world.peers.size();
                    int port = front.portBefore(rank, listener.socket().getLocalPort());
                    world.peers.add(new Peer(rank, node, place, "testhost", "127.0.0.1", port, 4000 + rank));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        for (int rank = 0; rank < size; rank++) {
            world.startRank(rank, options.get(rank), deterministic);
        }
        return world;
    }

    private void startRank(int rank, TcpOptions options, boolean deterministic) {
        WorldContext context = new WorldContext(runId, ROUND, rank, SECRET, peers, Optional.of(listeners.get(rank)));
        TcpBackendFactory tcp = TcpBackendFactory.start(context, options, log::add, HANDSHAKE_TIMEOUT);
        BackendFactory factory =
                context.nodeCount() == 1 ? tcp : new HierarchicalBackendFactory(new ShmBackendFactory(context), tcp);
        GroupHealth health = new GroupHealth();
        GroupContext group =
                new GroupContext(context, "world", rank, peers, deterministic, Duration.ofSeconds(20), health);
        factories.add(factory);
        ranks.add(new Rank(rank, peers.size(), factory.create(group), health, ChannelId.ofCollectives(group)));
    }

    Rank rank(int rank) {
        return ranks.get(rank);
    }

    Peer peer(int rank) {
        return peers.get(rank);
    }

    /** Returns the names of the ranks' files in shared memory. */
    String runId() {
        return runId;
    }

    List<String> log() {
        return log;
    }

    /** Closes one rank as its process would at the end of main. */
    void leave(int rank) {
        if (!left.add(rank)) {
            return;
        }
        ranks.get(rank).backend().close();
        factories.get(rank).close();
    }

    /** Runs {@code body} on one rank's own thread. */
    Future<?> submit(int rank, Body body) {
        return threads.submit(() -> {
            body.run(ranks.get(rank));
            return null;
        });
    }

    /** Runs {@code body} on every rank and waits; throws the first failure, with the others suppressed in it. */
    void run(Body body) throws Exception {
        List<Throwable> failures =
                outcomes(body).stream().flatMap(Optional::stream).toList();
        if (!failures.isEmpty()) {
            AssertionError error = new AssertionError("a rank failed", failures.getFirst());
            failures.stream().skip(1).forEach(error::addSuppressed);
            throw error;
        }
    }

    /** Runs {@code body} on every rank and waits. Returns the exceptions. */
    List<Optional<Throwable>> outcomes(Body body) throws Exception {
        List<Future<?>> running = new ArrayList<>();
        for (Rank rank : ranks) {
            running.add(submit(rank.rank(), body));
        }
        List<Optional<Throwable>> outcomes = new ArrayList<>();
        for (Future<?> each : running) {
            outcomes.add(outcome(each));
        }
        return outcomes;
    }

    /** Returns the exception of a submitted body. Fails if the body hangs. */
    static Optional<Throwable> outcome(Future<?> running) throws InterruptedException, TimeoutException {
        try {
            running.get(HANG_SECONDS, TimeUnit.SECONDS);
            return Optional.empty();
        } catch (ExecutionException e) {
            return Optional.ofNullable(e.getCause());
        }
    }

    @Override
    public void close() {
        threads.shutdownNow();
        for (int rank = 0; rank < ranks.size(); rank++) {
            leave(rank);
        }
    }
}
