package io.jrun.comm.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.GroupHealth;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Frame.Peer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The thread that opens connections fails. Ranks that need a connection, now or later, get the reason long before the
 * deadline.
 */
@Timeout(60)
class SetupFailureTest {
    private static final Duration DEADLINE = Duration.ofMinutes(10);
    private static final int PATIENCE_MILLIS = 20_000;

    /** Rank 1 listens and answers no caller. */
    private ServerSocket silent;

    private Peer first;
    private TcpBackendFactory factory;
    private Backend backend;
    private final ExecutorService thread = Executors.newSingleThreadExecutor();

    @BeforeEach
    void start() throws IOException {
        silent = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
        silent.setSoTimeout(PATIENCE_MILLIS);
        ServerSocketChannel listener = ServerSocketChannel.open();
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        first = new Peer(0, 0, 0, "testhost", "127.0.0.1", listener.socket().getLocalPort(), 4000);
        Peer second = new Peer(1, 1, 0, "testhost", "127.0.0.1", silent.getLocalPort(), 4001);
        List<Peer> peers = List.of(first, second);
        WorldContext world =
                new WorldContext("setup-failure", TcpRanks.ROUND, 0, TcpRanks.SECRET, peers, Optional.of(listener));
        AtomicBoolean hasFailed = new AtomicBoolean();
        factory = TcpBackendFactory.start(
                world, TcpOptions.DEFAULT, _ -> failOnce(hasFailed), ConnectionSetup.HANDSHAKE_TIMEOUT);
        GroupContext group =
                new GroupContext(world, "world", 0, peers, false, Duration.ofMinutes(1), new GroupHealth());
        backend = factory.create(group);
    }

    /** As anything may that the thread calls. */
    private static void failOnce(AtomicBoolean hasFailed) {
        if (hasFailed.compareAndSet(false, true)) {
            throw new OutOfMemoryError("no heap is left");
        }
    }

    @AfterEach
    void close() throws IOException {
        thread.shutdownNow();
        backend.close();
        factory.close();
        silent.close();
    }

    @Test
    void aCallThatWaitsForItsConnectionFailsAtOnce() throws Exception {
        Future<?> call = thread.submit(() -> backend.run(Calls.withTimeout(Calls.barrier(0), DEADLINE)));
        try (Socket _ = silent.accept()) {
            failSetup();
            assertNamesTheCause(call);
        }
    }

    @Test
    void aCallAfterTheFailureFailsAtOnce() throws Exception {
        failSetup();
        assertNamesTheCause(thread.submit(() -> backend.run(Calls.withTimeout(Calls.barrier(0), DEADLINE))));
    }

    /** A caller that does not speak the protocol is reported, which fails; returns when the thread is about to end. */
    private void failSetup() throws IOException {
        try (Socket stranger = new Socket(InetAddress.getLoopbackAddress(), first.tcpPort())) {
            stranger.setSoTimeout(PATIENCE_MILLIS);
            stranger.getOutputStream().write(new byte[HandshakeRequest.BYTES]);
            assertThat(stranger.getInputStream().read()).isEqualTo(-1);
        } catch (SocketException _) {
            // A reset says the same.
        }
    }

    private static void assertNamesTheCause(Future<?> call) throws Exception {
        assertThat(TcpRanks.outcome(call)).get().isInstanceOfSatisfying(CommException.class, failure -> {
            assertThat(failure.code()).isEqualTo(ErrorCode.PEER_LOST);
            assertThat(failure).hasMessageContaining("rank 1").hasMessageContaining("no heap is left");
        });
    }
}
