package io.jrun.launcher.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Status;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.Measurement;
import io.jrun.launcher.doctor.Finding.State;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class HostFindingsTest {
    private final HostFindings findings = new HostFindings("1.0");

    private static Examination.Builder healthy() {
        return Examination.newBuilder()
                .setVersion("1.0")
                .setJava("25")
                .setHost("gpu1")
                .setReachedAt("10.0.0.1")
                .setInterface("eth0, MTU 1500")
                .setCores(8)
                .setShmFreeBytes(4L << 30)
                .setShmBytes(8L << 30)
                .setOpenFiles("65536")
                .setTools("util-linux 2.38.1, coreutils 9.1");
    }

    private List<String> problems(Examination facts, double clockSeconds) {
        return findings.of("h1", facts, clockSeconds, 0.01).stream()
                .filter(finding -> finding.state() == State.PROBLEM)
                .map(finding -> finding.what() + ": " + finding.text())
                .toList();
    }

    @Test
    void aHealthyHostHasNoProblem() {
        assertThat(problems(healthy().build(), 0.2)).isEmpty();
        assertThat(findings.of("h1", healthy().build(), 0, 0.01).getFirst().text())
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
        assertThat(problems(healthy().setOpenFiles("256").build(), 0))
                .singleElement()
                .asString()
                .contains("ulimit");
        assertThat(problems(
                        healthy()
                                .setMissingTools("setpriv is too old; install util-linux 2.33")
                                .build(),
                        0))
                .containsExactly("h1 tools: setpriv is too old; install util-linux 2.33");
        assertThat(findings.unreachable(
                                "h9", 29600, Status.UNAVAILABLE.withCause(new UnknownHostException("h9: unknown")))
                        .text())
                .isEqualTo("h9: unknown; is its name right?");
        Status refused = Status.UNAVAILABLE
                .withDescription("io exception")
                .withCause(new ConnectException("Connection refused"));
        assertThat(findings.unreachable("h1", 29600, refused).text())
                .isEqualTo("Connection refused; is 'jrun agent --listen 0.0.0.0' running there, and port 29600 open?");
    }

    @Test
    void aWayThatIsClosedOrMuchSlowerThanTheOthersIsAProblem() {
        List<HostFindings.Way> ways = new ArrayList<>();
        for (double speed : new double[] {1e9, 1.1e9, 0.9e9, 0.2e9}) {
            ways.add(new HostFindings.Way(
                    "h1",
                    "h2",
                    Measurement.newBuilder()
                            .setRoundTripNanos(120_000)
                            .setBytesPerSecond(speed)
                            .build()));
        }
        ways.add(new HostFindings.Way(
                "h1",
                "h3",
                Measurement.newBuilder().setError("No route to host").build()));
        List<Finding> found = HostFindings.ways(ways);
        assertThat(found.stream().map(Finding::state))
                .containsExactly(State.OK, State.OK, State.OK, State.PROBLEM, State.PROBLEM);
        assertThat(found.getFirst().text()).isEqualTo("0.12 ms there and back, 8.00 Gbit/s over TLS");
        assertThat(found.getLast().text()).startsWith("No route to host; a firewall");
    }
}
