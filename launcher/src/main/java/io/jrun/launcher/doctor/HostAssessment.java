package io.jrun.launcher.doctor;

import io.grpc.Status;
import io.jrun.agent.ErrorCauses;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.Measurement;
import io.jrun.agent.tls.UnknownPeerException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import javax.net.ssl.SSLException;

/** Judges what agents tell of their hosts, and why others tell nothing. Immutable. */
final class HostAssessment {
    /** Log files of several hosts are read side by side, and certificates have dates. */
    private static final double MOST_CLOCK_SECONDS = 1;

    /** A way that much slower than the middle one holds up every collective. */
    private static final double MUCH_SLOWER = 4;

    private static final double NANOS_PER_MILLI = 1e6;

    private final String version;
    private final OptionalInt port;

    /**
     * @param version of jrun here
     * @param port at which agents stand; empty where they are called
     */
    HostAssessment(String version, OptionalInt port) {
        this.version = version;
        this.port = port;
    }

    /**
     * A way from one host to another, as the first one's agent has measured it.
     *
     * @param ports to which workers there could listen
     */
    record Way(String from, String to, String ports, Measurement measured) {}

    /** An agent that has told nothing. */
    CheckResult unreachable(String host, Status status) {
        return CheckResult.problem("agent", why(status)).on(host);
    }

    private String why(Status status) {
        if (status.getCode() == Status.Code.UNIMPLEMENTED) {
            return "is of an older version than this jrun, " + version + "; update it";
        }
        Optional<UnknownPeerException> stranger = ErrorCauses.find(status, UnknownPeerException.class);
        if (stranger.isPresent()) {
            return "is there, but refuses this jrun: " + stranger.get().getMessage();
        }
        String words = ErrorCauses.first(status);
        if (status.getCode() == Status.Code.FAILED_PRECONDITION || status.getCode() == Status.Code.UNAUTHENTICATED) {
            return "is there, but refuses: " + words;
        }
        if (ErrorCauses.find(status, UnknownHostException.class).isPresent()) {
            return words + "; is its name right?";
        }
        if (port.isEmpty()) {
            return "cannot be started there: " + words;
        }
        if (ErrorCauses.find(status, SSLException.class).isPresent()) {
            return "somebody listens at port " + port.getAsInt() + ", but TLS with it fails: " + words
                    + "; is it an agent, and does its --secret-file admit this jrun's?";
        }
        return words + "; is 'jrun agent --listen 0.0.0.0' running there, and port " + port.getAsInt() + " open?";
    }

    /** A line for each thing. */
    List<CheckResult> of(String host, Examination facts, Clock clock) {
        List<CheckResult> found = new ArrayList<>();
        found.add(agent(facts).on(host));
        found.add(clock.finding().on(host));
        NodeAssessment.of(facts).forEach(finding -> found.add(finding.on(host)));
        return found;
    }

    private CheckResult agent(Examination facts) {
        String text = "jrun " + facts.getVersion() + ", Java " + facts.getJava() + " on " + facts.getHost()
                + ", reached at " + facts.getReachedAt()
                + (facts.getInterface().isEmpty() ? "" : " (" + facts.getInterface() + ")");
        CheckResult found = facts.getVersion().equals(version)
                ? CheckResult.ok("agent", text)
                : CheckResult.problem("agent", text + "; this is jrun " + version + ": install the same on all hosts");
        return found.with("version", facts.getVersion())
                .with("java", facts.getJava())
                .with("address", facts.getReachedAt())
                .with("interface", facts.getInterface());
    }

    /**
     * A host's clock.
     *
     * @param ahead of this one's, in seconds, if the answer was given in the middle of the time that it took
     * @param roundTrip how long that was, in seconds; the clock is within half of it
     */
    record Clock(double ahead, double roundTrip) {
        private CheckResult finding() {
            String text = String.format(
                    Locale.ROOT, "%+.1f ms from this host's, to within %.1f ms", ahead * 1e3, roundTrip / 2 * 1e3);
            CheckResult found = Math.abs(ahead) - roundTrip / 2 < MOST_CLOCK_SECONDS
                    ? CheckResult.ok("clock", text)
                    : CheckResult.problem("clock", text + "; have both synchronised: chrony or systemd-timesyncd");
            return found.with("ahead_ms", ahead * 1e3).with("within_ms", roundTrip / 2 * 1e3);
        }
    }

    /** A line for each way. */
    static List<CheckResult> ways(List<Way> ways) {
        double[] speeds = ways.stream()
                .map(Way::measured)
                .filter(measured -> measured.getError().isEmpty())
                .mapToDouble(Measurement::getBytesPerSecond)
                .sorted()
                .toArray();
        double middle = speeds.length == 0 ? 0 : speeds[speeds.length / 2];
        return ways.stream()
                .map(way -> way(way, middle).with("from", way.from()).with("to", way.to()))
                .toList();
    }

    private static CheckResult way(Way way, double middle) {
        String what = way.from() + " to " + way.to();
        Measurement measured = way.measured();
        if (!measured.getError().isEmpty()) {
            return CheckResult.problem(
                    what,
                    measured.getError() + "; a firewall, or no route? Workers connect at any port between hosts, here "
                            + way.ports() + " (net.ipv4.ip_local_port_range)");
        }
        double milliseconds = measured.getRoundTripNanos() / NANOS_PER_MILLI;
        double gigabits = measured.getBytesPerSecond() * 8 / 1e9;
        String text =
                String.format(Locale.ROOT, "%.2f ms there and back, %.2f Gbit/s over TLS", milliseconds, gigabits);
        CheckResult found = measured.getBytesPerSecond() * MUCH_SLOWER < middle
                ? CheckResult.problem(
                        what, text + ", less than a quarter of the middle one: look at its link and its load")
                : CheckResult.ok(what, text);
        return found.with("round_trip_ms", milliseconds).with("gbit_per_s", gigabits);
    }
}
