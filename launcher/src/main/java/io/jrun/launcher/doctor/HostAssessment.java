package io.jrun.launcher.doctor;

import io.grpc.Status;
import io.jrun.agent.ErrorCauses;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.LinkMeasurement;
import io.jrun.agent.tls.UnknownPeerException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import javax.net.ssl.SSLException;

/** Judges the facts that agents report about their hosts, and the errors of agents that report nothing. Immutable. */
final class HostAssessment {
    /**
     * The limit for the difference of clocks. Users compare the log files of several hosts, and certificates have
     * dates.
     */
    private static final double MOST_CLOCK_SECONDS = 1;

    /** The factor below the median at which a connection counts as slow. A slow connection delays every collective. */
    private static final double MUCH_SLOWER = 4;

    private static final double NANOS_PER_MILLI = 1e6;

    private final String version;
    private final OptionalInt port;

    /**
     * @param version version of this jrun
     * @param port port of the standing agents; empty if jrun starts the agents
     */
    HostAssessment(String version, OptionalInt port) {
        this.version = version;
        this.port = port;
    }

    /**
     * A connection from one host to another, measured by the agent of the first host.
     *
     * @param ports the range of ports on which workers of the second host listen
     */
    record HostConnection(String from, String to, String ports, LinkMeasurement measured) {}

    /** The result for an agent that has reported nothing. */
    CheckResult unreachable(String host, Status status) {
        return CheckResult.problem("agent", why(status)).on(host);
    }

    private String why(Status status) {
        if (status.getCode() == Status.Code.UNIMPLEMENTED) {
            return "is older than this jrun, version " + version + "; install this version on the host";
        }
        Optional<UnknownPeerException> unknownPeer = ErrorCauses.find(status, UnknownPeerException.class);
        if (unknownPeer.isPresent()) {
            return "is running, but refuses this jrun: " + unknownPeer.get().getMessage();
        }
        String words = ErrorCauses.first(status);
        if (status.getCode() == Status.Code.FAILED_PRECONDITION || status.getCode() == Status.Code.UNAUTHENTICATED) {
            return "is running, but refuses the check: " + words;
        }
        if (ErrorCauses.find(status, UnknownHostException.class).isPresent()) {
            return words + "; check the name";
        }
        if (port.isEmpty()) {
            return "cannot be started on this host: " + words;
        }
        if (ErrorCauses.find(status, SSLException.class).isPresent()) {
            return "a program listens at port " + port.getAsInt() + ", but the TLS handshake with the program fails: "
                    + words
                    + "; check that the program is 'jrun agent', and that both sides have the same --secret-file";
        }
        return words + "; check that 'jrun agent --listen 0.0.0.0' runs on this host, and that port " + port.getAsInt()
                + " is open";
    }

    /** One result for each fact. */
    List<CheckResult> of(String host, Examination facts, Clock clock) {
        List<CheckResult> found = new ArrayList<>();
        found.add(agent(facts).on(host));
        found.add(clock.finding().on(host));
        NodeAssessment.of(facts).forEach(finding -> found.add(finding.on(host)));
        return found;
    }

    private CheckResult agent(Examination facts) {
        String text = "jrun " + facts.getVersion() + ", Java " + facts.getJava() + " on " + facts.getHost()
                + ", reached at " + facts.getAddress()
                + (facts.getInterface().isEmpty() ? "" : " (" + facts.getInterface() + ")");
        CheckResult found = facts.getVersion().equals(version)
                ? CheckResult.ok("agent", text)
                : CheckResult.problem(
                        "agent",
                        text + "; this jrun has version " + version + "; install the same version on all hosts");
        return found.with("version", facts.getVersion())
                .with("java", facts.getJava())
                .with("address", facts.getAddress())
                .with("interface", facts.getInterface());
    }

    /**
     * The clock of a host.
     *
     * @param ahead the difference to this host's clock, in seconds, if the agent answered in the middle of the round
     *     trip
     * @param roundTrip the round trip, in seconds; the error of the difference is at most half of it
     */
    record Clock(double ahead, double roundTrip) {
        private CheckResult finding() {
            String text = String.format(
                    Locale.ROOT,
                    "%+.1f ms ahead of this machine's clock, to within %.1f ms",
                    ahead * 1e3,
                    roundTrip / 2 * 1e3);
            CheckResult found = Math.abs(ahead) - roundTrip / 2 < MOST_CLOCK_SECONDS
                    ? CheckResult.ok("clock", text)
                    : CheckResult.problem("clock", text + "; synchronise both clocks with chrony or systemd-timesyncd");
            return found.with("ahead_ms", ahead * 1e3).with("within_ms", roundTrip / 2 * 1e3);
        }
    }

    /** One result for each connection. */
    static List<CheckResult> connections(List<HostConnection> connections) {
        double[] speeds = connections.stream()
                .map(HostConnection::measured)
                .filter(measured -> measured.getError().isEmpty())
                .mapToDouble(LinkMeasurement::getBytesPerSecond)
                .sorted()
                .toArray();
        double middle = speeds.length == 0 ? 0 : speeds[speeds.length / 2];
        return connections.stream()
                .map(connection -> connection(connection, middle)
                        .with("from", connection.from())
                        .with("to", connection.to()))
                .toList();
    }

    private static CheckResult connection(HostConnection connection, double middle) {
        String what = connection.from() + " to " + connection.to();
        LinkMeasurement measured = connection.measured();
        if (!measured.getError().isEmpty()) {
            return CheckResult.problem(
                    what,
                    measured.getError() + "; check the firewall and the route. Workers connect at any port between"
                            + " hosts, here " + connection.ports() + " (net.ipv4.ip_local_port_range)");
        }
        double milliseconds = measured.getRoundTripNanos() / NANOS_PER_MILLI;
        double gigabits = measured.getBytesPerSecond() * 8 / 1e9;
        String text =
                String.format(Locale.ROOT, "%.2f ms there and back, %.2f Gbit/s over TLS", milliseconds, gigabits);
        CheckResult found = measured.getBytesPerSecond() * MUCH_SLOWER < middle
                ? CheckResult.problem(what, text + ", less than a quarter of the median: check the link and the load")
                : CheckResult.ok(what, text);
        return found.with("round_trip_ms", milliseconds).with("gbit_per_s", gigabits);
    }
}
