package io.jrun.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.AgentListener.DialedAgent;
import io.jrun.agent.job.LocalAddress;
import io.jrun.agent.proto.Blob;
import io.jrun.agent.proto.DoctorGrpc;
import io.jrun.agent.proto.DoctorGrpc.DoctorImplBase;
import io.jrun.agent.tls.UnknownPeerException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The agent opens the connection, and the launcher calls. */
@Timeout(60)
class DialingServerTest {
    private static final String SECRET = "0123456789abcdef";
    private static final Duration LIMIT = Duration.ofSeconds(5);

    private final BlockingQueue<DialedAgent> agents = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> log = new LinkedBlockingQueue<>();
    private final RefusalLog refusals = RefusalLog.open(log::add);
    private AgentListener listener;
    private DialingServer server;

    /** Answers with the same bytes. */
    private static final class Echo extends DoctorImplBase {
        @Override
        public void take(Blob blob, StreamObserver<Blob> reply) {
            reply.onNext(blob);
            reply.onCompleted();
        }
    }

    @BeforeEach
    void start() throws IOException {
        listener = AgentListener.listen(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), secret(SECRET), agents::add, log::add);
        server = server(SECRET);
    }

    @AfterEach
    void close() {
        server.close();
        listener.close();
        refusals.close();
    }

    private static AgentSecret secret(String text) {
        return AgentSecret.of(text.getBytes(StandardCharsets.US_ASCII));
    }

    private DialingServer server(String secret) throws IOException {
        return DialingServer.start(secret(secret), List.of(new Echo()), LocalAddress.ofConnection(), refusals);
    }

    private static Blob echo(ManagedChannel channel, Blob blob) {
        return DoctorGrpc.newBlockingStub(channel)
                .withDeadlineAfter(20, TimeUnit.SECONDS)
                .take(blob);
    }

    private DialedAgent next() throws InterruptedException {
        return Objects.requireNonNull(agents.poll(20, TimeUnit.SECONDS), "no agent within 20 s");
    }

    @Test
    void theLauncherCallsTheAgentUntilTheConnectionEnds() throws Exception {
        DialingServer.DialedConnection connection =
                server.dial("localhost", listener.port(), LIMIT).get(20, TimeUnit.SECONDS);
        DialedAgent agent = next();
        assertThat(agent.address()).isEqualTo("127.0.0.1");
        Blob large = Blob.newBuilder()
                .setData(ByteString.copyFrom(new byte[5 << 20]))
                .build();
        assertThat(echo(agent.channel(), large)).isEqualTo(large);
        connection.close();
        assertThatThrownBy(() -> {
                    while (true) {
                        echo(agent.channel(), Blob.getDefaultInstance());
                    }
                })
                .isInstanceOfSatisfying(
                        StatusRuntimeException.class,
                        failure -> assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE));
    }

    @Test
    void agentWithAnotherSecretFindsNoLauncher() throws Exception {
        try (DialingServer stranger = server("another secret of 16")) {
            assertThatThrownBy(() ->
                            stranger.dial("localhost", listener.port(), LIMIT).get(20, TimeUnit.SECONDS))
                    .hasStackTraceContaining(UnknownPeerException.class.getName());
        }
        assertThat(log.poll(20, TimeUnit.SECONDS)).contains("its TLS handshake failed");
        assertThat(agents).isEmpty();
    }

    @Test
    void connectionsOfStrangersDisturbNoCall() throws Exception {
        for (int i = 0; i < 20; i++) {
            try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), listener.port())) {
                socket.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            }
        }
        server.dial("localhost", listener.port(), LIMIT).get(20, TimeUnit.SECONDS);
        assertThat(echo(next().channel(), Blob.getDefaultInstance())).isEqualTo(Blob.getDefaultInstance());
        assertThat(log).hasSize(1);
    }

    @Test
    void portWithoutAListenerIsReportedAtOnce() {
        int port = listener.port();
        listener.close();
        assertThatThrownBy(() -> server.dial("localhost", port, LIMIT).get(20, TimeUnit.SECONDS))
                .hasMessageContaining("Connection refused");
    }
}
