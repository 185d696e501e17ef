package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.tls.PeerIdentity;
import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Attacks of callers without the secret change neither a standing agent nor its running job. */
class AttackIT extends RealJobs {
    private static final int TIMEOUT_MILLIS = TlsCaller.TIMEOUT_MILLIS;

    private static final int CONNECTIONS = Boolean.getBoolean("jrun.soak") ? 10_000 : 500;
    private static final int HUGE = 1 << 30;

    private StandingAgent agent;

    @BeforeEach
    void startAgent() {
        agent = StandingAgent.start(jrun, folder);
    }

    @AfterEach
    void stopAgent() throws IOException {
        Files.writeString(folder.resolve("go"), "");
        agent.close();
    }

    @Test
    void attackersAreRefusedInOneLineForEachWayAndTheJobGoesOn() throws Exception {
        byte[] secret = Files.readString(agent.secretFile()).strip().getBytes(StandardCharsets.UTF_8);
        PeerIdentity right = PeerIdentity.of(secret);
        PeerIdentity wrong = PeerIdentity.of("another secret of 32 characters.".getBytes(StandardCharsets.UTF_8));
        try (RecordingProxy proxy = RecordingProxy.to(agent.port())) {
            Running job = jrun.start(
                    "--hosts=127.0.0.1",
                    "--agent-port=" + proxy.port(),
                    "--secret-file=" + agent.secretFile(),
                    "sh",
                    "-c",
                    "echo on; while [ ! -e go ]; do sleep 0.05; done; echo over");
            job.awaitOutput("on");

            assertRefused(TlsCaller.connect(agent.port(), right)); // no credential
            assertRefused(TlsCaller.connect(agent.port(), right, wrong.keyManager()));
            assertRefused(spoken(proxy.recorded())); // replay
            for (int seed = 0; seed < 5; seed++) {
                byte[] garbage = new byte[2000];
                new Random(seed).nextBytes(garbage);
                assertRefused(spoken(garbage));
            }
            assertRefused(spoken("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII)));
            String token = Base64.getEncoder().withoutPadding().encodeToString(right.token());
            assertCallEnds(right, "", new byte[0]);
            assertCallEnds(right, token, message(HUGE));
            assertCallEnds(right, token, message(3, (byte) 0xff, (byte) 0xff, (byte) 0xff)); // no message of ours
            assertConnectionEnds(right);
            assertAllAreGone(flood());

            Files.writeString(folder.resolve("go"), "");
            Result result = job.await();
            assertThat(result.exitCode()).as(result.err()).isZero();
            assertThat(result.out()).endsWith("] over\n");
        }
        Result later = jrun.run(agent.with("echo", "served"));
        assertThat(later.out()).as(later.err()).endsWith("] served\n");
        assertThat(agent.process().err().lines())
                .satisfiesOnlyOnce(line -> assertThat(line).contains("(its TLS handshake failed)"))
                .satisfiesOnlyOnce(line -> assertThat(line).contains("(a call without its token)"))
                .satisfiesOnlyOnce(line -> assertThat(line).contains("refused a message that is too large"))
                .satisfiesOnlyOnce(
                        line -> assertThat(line).contains("too many connections without authentication are open"))
                .hasSize(4);
    }

    @Test
    void launcherWhoseConnectionTheAgentHasDroppedTriesAgain() throws IOException {
        try (RecordingProxy proxy = RecordingProxy.dropping(2, agent.port())) {
            String[] options = {
                "--hosts=127.0.0.1", "--agent-port=" + proxy.port(), "--secret-file=" + agent.secretFile()
            };
            Result result = jrun.run(StandingAgent.join(options, "echo", "served"));
            assertThat(result.exitCode()).as(result.err()).isZero();
            assertThat(result.out()).endsWith("] served\n");
            assertThat(result.err())
                    .hasLineCount(1)
                    .contains("the agent at 127.0.0.1:" + proxy.port() + " closed the connection", "--join-timeout");
        }
        try (RecordingProxy proxy = RecordingProxy.dropping(1000, agent.port())) {
            String[] options = {
                "--hosts=127.0.0.1", "--agent-port=" + proxy.port(), "--secret-file=" + agent.secretFile()
            };
            Result result = jrun.run(StandingAgent.join(options, "--join-timeout=1", "echo", "served"));
            assertThat(result.exitCode()).isEqualTo(69);
            assertThat(result.err()).contains("the agent at 127.0.0.1:" + proxy.port() + " cannot be reached: ");
        }
    }

    private Socket plain() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), agent.port());
        socket.setSoTimeout(TIMEOUT_MILLIS);
        return socket;
    }

    private Socket spoken(byte[] bytes) throws IOException {
        Socket socket = plain();
        socket.getOutputStream().write(bytes);
        return socket;
    }

    /** The agent ends the connection, which else fails by its read timeout. */
    private static void assertRefused(Socket socket) throws IOException {
        try (socket) {
            socket.setSoTimeout(TIMEOUT_MILLIS);
            socket.getInputStream().readAllBytes();
        } catch (SSLException | SocketException _) {
            return; // an alert, or a reset, says the same
        }
    }

    /** The call ends with an error; {@code data} is what it carries. */
    private void assertCallEnds(PeerIdentity identity, String token, byte[] data) throws Exception {
        try (Socket socket = TlsCaller.connect(agent.port(), identity, identity.keyManager())) {
            Http2.open(socket, token);
            if (data.length > 0) {
                Http2.data(socket, data);
            }
            assertThat(Http2.awaitEnd(socket)).as("the call of stream 1").isTrue();
        }
    }

    /** A frame longer than any that was agreed on. */
    private void assertConnectionEnds(PeerIdentity identity) throws Exception {
        try (Socket socket = TlsCaller.connect(agent.port(), identity, identity.keyManager())) {
            Http2.open(socket, "");
            socket.getOutputStream().write(new byte[] {-1, -1, -1, 0, 0, 0, 0, 0, 1});
            socket.getOutputStream().flush();
            while (Http2.awaitFrame(socket) >= 0) {}
        }
    }

    /** A gRPC message that says it has {@code length} bytes. */
    private static byte[] message(int length, byte... content) {
        ByteArrayOutputStream message = new ByteArrayOutputStream();
        message.write(0);
        for (int shift = 24; shift >= 0; shift -= 8) {
            message.write(length >>> shift);
        }
        message.writeBytes(content);
        return message.toByteArray();
    }

    private List<Socket> flood() throws IOException {
        List<Socket> sockets = new ArrayList<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            sockets.add(plain());
        }
        return sockets;
    }

    private static void assertAllAreGone(List<Socket> sockets) throws IOException {
        for (Socket socket : sockets) {
            assertRefused(socket);
        }
    }
}
