package io.jrun.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.grpc.ManagedChannel;
import io.jrun.agent.tls.PeerIdentity;
import io.jrun.agent.tls.UnknownPeerException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Agents with certificates. One authority has admitted {@code alice.pem} and {@code loopback.pem}, which names
 * 127.0.0.1; another authority has admitted {@code mallory.pem}. The files have the form of {@code jrun cert node}.
 */
@Timeout(60)
class CertifiedAgentTest {
    @TempDir
    Path folder;

    private final List<String> log = new CopyOnWriteArrayList<>();

    @Test
    void clientOfAnotherAuthorityIsRefusedAtTheHandshakeThoughItTrustsEverybody() throws Exception {
        try (AgentServer agent = agent("loopback.pem")) {
            assertThatThrownBy(() -> TrustingClient.firstByte(agent, keys("mallory.pem")))
                    .isInstanceOfAny(SSLException.class, SocketException.class);
            assertThat(TrustingClient.firstByte(agent, keys("alice.pem"))).isNotNegative();
        }
    }

    @Test
    void agentIsServedOnlyUnderTheNamesOfItsCertificate() throws IOException {
        try (AgentServer agent = agent("loopback.pem");
                AgentServer impostor = agent("alice.pem")) {
            ManagedChannel channel = channel(agent);
            try (TestJob job = TestJob.over(channel, folder)) {
                job.open();
            } finally {
                channel.shutdownNow();
            }
            ManagedChannel misled = channel(impostor);
            try (TestJob job = TestJob.over(misled, folder)) {
                assertThat(job.awaitError())
                        .hasStackTraceContaining(UnknownPeerException.class.getName())
                        .hasStackTraceContaining("the certificate of the peer is not accepted")
                        .hasStackTraceContaining("127.0.0.1");
            } finally {
                misled.shutdownNow();
            }
        }
    }

    private AgentServer agent(String file) throws IOException {
        InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        return AgentServer.listen(anyPort, AgentSecret.ofCertificate(pem(file)), TestJob.options(), log::add);
    }

    private static ManagedChannel channel(AgentServer agent) throws IOException {
        return SocketTransport.to(AgentSecret.ofCertificate(pem("alice.pem"))).channel("127.0.0.1", agent.port());
    }

    private static KeyManager[] keys(String file) throws IOException {
        return new KeyManager[] {PeerIdentity.ofCertificate(pem(file)).keyManager()};
    }

    private static String pem(String file) throws IOException {
        try (InputStream stream = Objects.requireNonNull(CertifiedAgentTest.class.getResourceAsStream(file))) {
            return new String(stream.readAllBytes(), StandardCharsets.US_ASCII);
        }
    }
}
