package io.jrun.launcher.doctor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.Status;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.LinkMeasurement;
import io.jrun.agent.proto.ResourceLimit;
import io.jrun.agent.tls.PeerIdentity;
import io.jrun.agent.tls.UnknownPeerException;
import io.jrun.launcher.doctor.CheckResult.CheckState;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.X509TrustManager;
import org.junit.jupiter.api.Test;

class HostAssessmentTest {
    private final HostAssessment findings = new HostAssessment("1.0", OptionalInt.of(29600));

    private static Examination.Builder healthy() {
        return Examination.newBuilder()
                .setVersion("1.0")
                .setJava("25")
                .setHost("gpu1")
                .setAddress("10.0.0.1")
                .setInterface("eth0, MTU 1500")
                .setCores(8)
                .setShmFreeBytes(4L << 30)
                .setShmBytes(8L << 30)
                .addLimits(ResourceLimit.newBuilder()
                        .setName("Max open files")
                        .setSoft("65536")
                        .setHard("65536"))
                .setTools("util-linux 2.38.1, coreutils 9.1");
    }

    private List<String> problems(Examination facts, double clockSeconds) {
        return findings.of("h1", facts, new HostAssessment.Clock(clockSeconds, 0.01)).stream()
                .filter(finding -> finding.state() == CheckState.PROBLEM)
                .map(finding -> finding.what() + ": " + finding.text())
                .toList();
    }

    @Test
    void aHealthyHostHasNoProblem() {
        assertThat(problems(healthy().build(), 0.2)).isEmpty();
        assertThat(findings.of("h1", healthy().build(), new HostAssessment.Clock(0, 0.01))
                        .getFirst()
                        .text())
                .isEqualTo("jrun 1.0, Java 25 on gpu1, reached at 10.0.0.1 (eth0, MTU 1500)");
    }

    @Test
    void eachProblemIsOneLineThatSaysWhatToDo() {
        assertThat(problems(healthy().setVersion("0.9").build(), 0))
                .singleElement()
                .asString()
                .contains("install the same");
        assertThat(problems(healthy().build(), -30)).singleElement().asString().contains("-30000.0 ms", "chrony");
        assertThat(problems(healthy().addUnknownNames("h2").build(), 0))
                .singleElement()
                .asString()
                .contains("does not know h2", "/etc/hosts");
        assertThat(problems(healthy().setShmFreeBytes(-1).build(), 0))
                .singleElement()
                .asString()
                .contains("tmpfs");
        assertThat(problems(
                        healthy()
                                .setMissingTools("setpriv is too old; install util-linux 2.33")
                                .build(),
                        0))
                .containsExactly("h1 tools: setpriv is too old; install util-linux 2.33");
        assertThat(findings.unreachable("h9", Status.UNAVAILABLE.withCause(new UnknownHostException("h9: unknown")))
                        .text())
                .isEqualTo("h9: unknown; check the name");
        Status refused = Status.UNAVAILABLE
                .withDescription("io exception")
                .withCause(new ConnectException("Connection refused"));
        assertThat(findings.unreachable("h1", refused).text())
                .isEqualTo(
                        "Connection refused; check that 'jrun agent --listen 0.0.0.0' runs on this host, and that port 29600"
                                + " is open");
    }

    @Test
    void anAgentThatIsThereButRefusesIsNotCalledMissing() throws GeneralSecurityException {
        X509TrustManager ours = (X509TrustManager) PeerIdentity.of(new byte[16]).trustManager();
        UnknownPeerException stranger = assertThrows(
                UnknownPeerException.class, () -> ours.checkServerTrusted(new X509Certificate[0], "UNKNOWN"));
        Status secret =
                Status.UNAVAILABLE.withCause(new SSLHandshakeException("General OpenSslEngine problem", stranger));
        assertThat(findings.unreachable("h1", secret).text())
                .isEqualTo("is running, but refuses this jrun: the agent was started with another secret; give the"
                        + " --secret-file of 'jrun agent'");
        assertThat(findings.unreachable("h1", Status.UNAUTHENTICATED.withDescription("no token"))
                        .text())
                .isEqualTo("is running, but refuses the check: no token");
        Status noTls = Status.UNAVAILABLE.withCause(new SSLException("not an SSL/TLS record"));
        assertThat(findings.unreachable("h1", noTls).text())
                .startsWith(
                        "a program listens at port 29600, but the TLS handshake with the program fails: not an SSL/TLS"
                                + " record; check that the program is");
        assertThat(new HostAssessment("1.0", OptionalInt.empty())
                        .unreachable("h1", Status.UNAVAILABLE.withDescription("ssh: Permission denied"))
                        .text())
                .isEqualTo("cannot be started on this host: ssh: Permission denied");
    }

    @Test
    void aWayThatIsClosedOrMuchSlowerThanTheOthersIsAProblem() {
        List<HostAssessment.HostConnection> connections = new ArrayList<>();
        for (double speed : new double[] {1e9, 1.1e9, 0.9e9, 0.2e9}) {
            connections.add(new HostAssessment.HostConnection(
                    "h1",
                    "h2",
                    "32768-60999",
                    LinkMeasurement.newBuilder()
                            .setRoundTripNanos(120_000)
                            .setBytesPerSecond(speed)
                            .build()));
        }
        connections.add(new HostAssessment.HostConnection(
                "h1",
                "h3",
                "32768-60999",
                LinkMeasurement.newBuilder().setError("No route to host").build()));
        List<CheckResult> found = HostAssessment.connections(connections);
        assertThat(found.stream().map(CheckResult::state))
                .containsExactly(CheckState.OK, CheckState.OK, CheckState.OK, CheckState.PROBLEM, CheckState.PROBLEM);
        assertThat(found.getFirst().text()).isEqualTo("0.12 ms there and back, 8.00 Gbit/s over TLS");
        assertThat(found.getLast().text())
                .startsWith("No route to host; check the firewall")
                .contains("here 32768-60999");
    }
}
