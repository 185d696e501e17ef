package io.jrun.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.FileChunk;
import io.jrun.agent.proto.JobClaim;
import io.jrun.agent.proto.JobOpened;
import io.jrun.agent.proto.LogCredit;
import io.jrun.agent.proto.OpenJob;
import io.jrun.agent.tls.PeerIdentity;
import io.jrun.agent.tls.UnknownPeerException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class AgentServerTest {
    private static final AgentSecret SECRET = secret("0123456789abcdef");

    @TempDir
    Path folder;

    private final List<String> log = new CopyOnWriteArrayList<>();

    @Test
    void standingAgentRunsAJobOverASocket() throws IOException {
        try (AgentServer agent = AgentServer.listen(loopback(), SECRET, TestJob.options(), log::add)) {
            ManagedChannel channel = channel(agent, SECRET);
            try (TestJob job = TestJob.over(channel, folder)) {
                job.open();
                job.launch(job.shells(2, "echo hello; exit 3"));
                assertThat(job.exited(1).getExitCode()).isEqualTo(3);
                assertThat(job.stdout(1)).isEqualTo("hello\n");
            } finally {
                channel.shutdownNow();
            }
        }
        assertThat(log).isEmpty();
    }

    @Test
    void callerWithAnotherSecretTrustsNoSuchAgentAndIsLoggedOnce() throws IOException {
        try (AgentServer agent = AgentServer.listen(loopback(), SECRET, TestJob.options(), log::add)) {
            for (int i = 0; i < 2; i++) {
                ManagedChannel channel = channel(agent, secret("fedcba9876543210"));
                try (TestJob job = TestJob.over(channel, folder)) {
                    assertThat(job.awaitError()).hasRootCauseInstanceOf(UnknownPeerException.class);
                } finally {
                    channel.shutdownNow();
                }
            }
            Processes.await(() -> !log.isEmpty());
        }
        assertThat(log)
                .singleElement()
                .asString()
                .startsWith("refused a caller without this agent's secret (")
                .endsWith("); further ones are refused silently");
    }

    @Test
    void callerWithoutTheKeyIsRefusedAlsoIfItTrustsAllAgents() throws Exception {
        try (AgentServer agent = AgentServer.listen(loopback(), SECRET, TestJob.options(), log::add)) {
            KeyManager stranger = PeerIdentity.of(new byte[32]).keyManager();
            for (KeyManager[] shown : new KeyManager[][] {{stranger}, {}}) {
                assertThatThrownBy(() -> TrustingClient.firstByte(
                                agent, shown)) // its alert, or the connection that it has closed already
                        .isInstanceOfAny(SSLException.class, SocketException.class);
            }
            KeyManager known = PeerIdentity.of(bytes("0123456789abcdef")).keyManager();
            assertThat(TrustingClient.firstByte(agent, new KeyManager[] {known}))
                    .isNotNegative(); // HTTP/2's settings
        }
    }

    @Test
    void keysAreExchangedByX25519Alone() throws Exception {
        KeyManager[] known = {PeerIdentity.of(bytes("0123456789abcdef")).keyManager()};
        try (AgentServer agent = AgentServer.listen(loopback(), SECRET, TestJob.options(), log::add)) {
            assertThat(TrustingClient.firstByte(agent, known, "x25519")).isNotNegative();
            assertThatThrownBy(() -> TrustingClient.firstByte(agent, known, "secp256r1"))
                    .isInstanceOf(IOException.class);
        }
    }

    @Test
    void garbageIsRefusedInOneLine() throws IOException {
        try (AgentServer agent = AgentServer.listen(loopback(), SECRET, TestJob.options(), log::add)) {
            for (int i = 0; i < 3; i++) {
                try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), agent.port())) {
                    socket.getOutputStream().write(bytes("GET / HTTP/1.1\r\nHost: x\r\n\r\n" + "x".repeat(100_000)));
                    assertThat(endOf(socket)).isTrue();
                }
            }
            Processes.await(() -> !log.isEmpty());
            ManagedChannel channel = channel(agent, SECRET);
            try (TestJob job = TestJob.over(channel, folder)) {
                job.open();
            } finally {
                channel.shutdownNow();
            }
        }
        assertThat(log).singleElement().asString().hasSizeLessThan(250);
    }

    /**
     * Any user of the launcher's host can open as many connections as it likes, and may send what looks like a
     * handshake.
     */
    @ParameterizedTest
    @ValueSource(strings = {"", "\u0016\u0003\u0001"})
    void connectionsWithoutAuthenticationDoNotBlockTheLauncherOfTheirHost(String sent) throws IOException {
        List<Socket> unproven = new ArrayList<>();
        try (AgentServer agent = AgentServer.listen(loopback(), SECRET, TestJob.options(), log::add)) {
            for (int i = 0; i < 100; i++) {
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), agent.port());
                unproven.add(socket);
                socket.getOutputStream().write(bytes(sent));
            }
            ManagedChannel channel = channel(agent, SECRET);
            try (TestJob job = TestJob.over(channel, folder)) {
                job.open();
            } finally {
                channel.shutdownNow();
            }
        } finally {
            for (Socket socket : unproven) {
                socket.close();
            }
        }
        // The log of refusals is one for the process. Connections of an agent that an earlier test has closed may end
        // later,
        // so other lines may come before this line.
        assertThat(log)
                .anyMatch(line -> line.startsWith("refused a connection: too many connections without authentication"));
    }

    /** Both sides wait 10 s. */
    @Test
    void slowHandshakeIsReportedAsSlow() throws IOException {
        try (AgentServer agent = AgentServer.listen(loopback(), SECRET, TestJob.options(), log::add);
                Socket _ = new Socket(InetAddress.getLoopbackAddress(), agent.port());
                ServerSocket stopped = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            ManagedChannel channel = SocketTransport.to(SECRET).channel("127.0.0.1", stopped.getLocalPort());
            try (TestJob job = TestJob.over(channel, folder)) {
                assertThat(Status.fromThrowable(job.awaitError()).getDescription())
                        .startsWith(
                                "the TLS handshake did not end within 10 s, because a host or the network is too busy");
            } finally {
                channel.shutdownNow();
            }
            Processes.await(() -> !log.isEmpty());
        }
        assertThat(log)
                .singleElement()
                .asString()
                .contains("(its TLS handshake failed), or one too slow to prove it (10 s); ");
    }

    @Test
    void lostLauncherEndsItsWorkersButNotTheAgent() throws IOException {
        try (AgentServer agent = AgentServer.listen(loopback(), SECRET, TestJob.options(), log::add)) {
            ManagedChannel first = channel(agent, SECRET);
            TestJob lost = TestJob.over(first, folder);
            lost.open();
            lost.launch(lost.shells(1, "trap '' TERM; sleep 300"));
            long pid = lost.pid(0);
            first.shutdownNow();
            Processes.await(() -> !Processes.isAlive(pid));

            ManagedChannel second = channel(agent, SECRET);
            try (TestJob next = TestJob.over(second, folder)) {
                next.open();
                next.launch(next.shells(1, "exit 4"));
                assertThat(next.exited(0).getExitCode()).isEqualTo(4);
            } finally {
                second.shutdownNow();
            }
        }
    }

    @Test
    void closingTheAgentKillsItsWorkers() throws IOException {
        AgentServer agent = AgentServer.listen(loopback(), SECRET, TestJob.options(), log::add);
        ManagedChannel channel = channel(agent, SECRET);
        TestJob job = TestJob.over(channel, folder);
        job.open();
        job.launch(job.shells(1, "sleep 300"));
        long pid = job.pid(0);
        agent.close();
        channel.shutdownNow();
        assertThat(Processes.isAlive(pid)).isFalse();
    }

    @Test
    void launcherOfAnotherVersionIsRefused() throws IOException {
        try (TestJob job = TestJob.inProcess(folder)) {
            assertThatThrownBy(() -> job.open(
                            job.openRequest().toBuilder().setJrunVersion("9").build()))
                    .cause()
                    .hasMessageContaining("this node's agent is jrun test, the launcher is jrun 9");
        }
    }

    @Test
    void callerWithoutTheJobSecretGetsNeitherOutputNorFiles() throws Exception {
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            JobClaim claim = job.claim().toBuilder()
                    .setJobSecret(ByteString.copyFromUtf8("guess!"))
                    .build();
            CompletableFuture<Status> logs = new CompletableFuture<>();
            job.stub()
                    .logs(endOf(logs))
                    .onNext(LogCredit.newBuilder().setJob(claim).setBytes(1).build());
            CompletableFuture<Status> files = new CompletableFuture<>();
            job.stub()
                    .files(endOf(files))
                    .onNext(FileChunk.newBuilder().setJob(claim).build());
            for (CompletableFuture<Status> end : List.of(logs, files)) {
                Status status = end.get(30, TimeUnit.SECONDS);
                assertThat(status.getCode()).isEqualTo(Status.Code.NOT_FOUND);
                assertThat(status.getDescription()).contains("with this secret").doesNotContain("guess");
            }
        }
    }

    private static <M> StreamObserver<M> endOf(CompletableFuture<Status> end) {
        return new StreamObserver<>() {
            @Override
            public void onNext(M message) {
                end.complete(Status.OK);
            }

            @Override
            public void onError(Throwable error) {
                end.complete(Status.fromThrowable(error));
            }

            @Override
            public void onCompleted() {
                end.complete(Status.OK);
            }
        };
    }

    @Test
    void jobOpenedDescribesTheNode() throws IOException {
        try (TestJob job = TestJob.inProcess(folder)) {
            JobOpened opened = job.open(
                    job.openRequest().toBuilder().setReserveMasterPort(true).build());
            assertThat(opened.getCores()).isEqualTo(Runtime.getRuntime().availableProcessors());
            assertThat(opened.getHost()).isNotEmpty();
            assertThat(opened.getAddress()).isEqualTo("127.0.0.1");
            assertThat(opened.getMasterPort()).isPositive();
        }
    }

    @Test
    void masterPortInUseRefusesTheJob() throws IOException {
        try (ServerSocket other = new ServerSocket(0);
                TestJob job = TestJob.inProcess(folder)) {
            OpenJob request = job.openRequest().toBuilder()
                    .setReserveMasterPort(true)
                    .setMasterPort(other.getLocalPort())
                    .build();
            assertThatThrownBy(() -> job.open(request))
                    .cause()
                    .hasMessageContaining("--master-port " + other.getLocalPort() + " cannot be reserved");
        }
    }

    @Test
    void weakSecretIsRefused() {
        assertThatThrownBy(() -> secret("short")).hasMessageContaining("has 5 bytes, it needs at least 16");
    }

    /** Whether the other side closes the connection. */
    private static boolean endOf(Socket socket) throws IOException {
        socket.setSoTimeout(30_000);
        try {
            while (socket.getInputStream().read() >= 0) {
                // an alert, perhaps
            }
        } catch (SocketException e) {
            // closed while garbage was unread
        }
        return true;
    }

    private static InetSocketAddress loopback() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    private static ManagedChannel channel(AgentServer agent, AgentSecret secret) {
        return SocketTransport.to(secret).channel("127.0.0.1", agent.port());
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static AgentSecret secret(String text) {
        return AgentSecret.of(bytes(text));
    }
}
