package io.jrun.launcher.doctor;

import io.grpc.Status;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.Measurement;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Judges what agents tell of their hosts. Immutable. */
final class HostFindings {
    /** Log files of several hosts are read side by side, and certificates have dates. */
    private static final double MOST_CLOCK_SECONDS = 1;

    /** A way that much slower than the middle one holds up every collective. */
    private static final double MUCH_SLOWER = 4;

    private static final double NANOS_PER_MILLI = 1e6;

    private final String version;

    HostFindings(String version) {
        this.version = version;
    }

    /** A way from one host to another, as the first one's agent has measured it. */
    record Way(String from, String to, Measurement measured) {}

    Finding unreachable(String host, int port, Status status) {
        if (status.getCode() == Status.Code.UNIMPLEMENTED) {
            return Finding.problem(
                    host + " agent", "is of an older version than this jrun, " + version + "; update it");
        }
        Throwable cause = status.getCause();
        while (cause != null && cause.getCause() != null) {
            cause = cause.getCause();
        }
        String what = host + " agent";
        if (cause instanceof UnknownHostException) {
            return Finding.problem(what, cause.getMessage() + "; is its name right?");
        }
        return Finding.problem(
                what,
                (cause == null ? status.getDescription() : cause.getMessage())
                        + "; is 'jrun agent --listen 0.0.0.0' running there, and port " + port + " open?");
    }

    /**
     * A line for each thing.
     *
     * @param clockSeconds how far its clock is ahead of this one's
     * @param roundTripSeconds how long it took to ask
     */
    List<Finding> of(String host, Examination facts, double clockSeconds, double roundTripSeconds) {
        List<Finding> found = new ArrayList<>();
        found.add(agent(host, facts));
        found.add(MachineChecks.startTools(host + " tools", facts.getTools(), facts.getMissingTools()));
        found.add(clock(host + " clock", clockSeconds, roundTripSeconds));
        found.add(
                facts.getUnknownNamesList().isEmpty()
                        ? Finding.ok(host + " names", "knows all hosts")
                        : Finding.problem(
                                host + " names",
                                "does not know " + String.join(", ", facts.getUnknownNamesList())
                                        + "; add them to DNS or its /etc/hosts, or name hosts by their addresses"));
        found.add(Finding.ok(
                host + " cores", facts.getCores() + " usable, " + (facts.getMemoryBytes() >> 20) + " MiB memory"));
        found.add(
                facts.getGpusList().isEmpty()
                        ? Finding.absent(host + " gpus", "none visible")
                        : Finding.ok(
                                host + " gpus",
                                facts.getGpusCount() + " visible, driver "
                                        + (facts.getGpuDriver().isEmpty() ? "unknown" : facts.getGpuDriver())));
        found.add(MachineChecks.sharedMemory(host + " /dev/shm", facts.getShmFreeBytes(), facts.getShmBytes()));
        found.add(MachineChecks.openFiles(host + " open files", facts.getOpenFiles()));
        return found;
    }

    private Finding agent(String host, Examination facts) {
        String what = host + " agent";
        String text = "jrun " + facts.getVersion() + ", Java " + facts.getJava() + " on " + facts.getHost()
                + ", reached at " + facts.getReachedAt()
                + (facts.getInterface().isEmpty() ? "" : " (" + facts.getInterface() + ")");
        return facts.getVersion().equals(version)
                ? Finding.ok(what, text)
                : Finding.problem(what, text + "; this is jrun " + version + ": install the same on all hosts");
    }

    private static Finding clock(String what, double ahead, double roundTrip) {
        String text = String.format(
                Locale.ROOT, "%+.1f ms from this host's, to within %.1f ms", ahead * 1e3, roundTrip / 2 * 1e3);
        return Math.abs(ahead) - roundTrip / 2 < MOST_CLOCK_SECONDS
                ? Finding.ok(what, text)
                : Finding.problem(what, text + "; have both synchronised: chrony or systemd-timesyncd");
    }

    /** A line for each way. */
    static List<Finding> ways(List<Way> ways) {
        double[] speeds = ways.stream()
                .map(Way::measured)
                .filter(measured -> measured.getError().isEmpty())
                .mapToDouble(Measurement::getBytesPerSecond)
                .sorted()
                .toArray();
        double middle = speeds.length == 0 ? 0 : speeds[speeds.length / 2];
        return ways.stream().map(way -> way(way, middle)).toList();
    }

    private static Finding way(Way way, double middle) {
        String what = way.from() + " to " + way.to();
        Measurement measured = way.measured();
        if (!measured.getError().isEmpty()) {
            return Finding.problem(
                    what, measured.getError() + "; a firewall, or no route? Workers connect at any port between hosts");
        }
        String text = String.format(
                Locale.ROOT,
                "%.2f ms there and back, %.2f Gbit/s over TLS",
                measured.getRoundTripNanos() / NANOS_PER_MILLI,
                measured.getBytesPerSecond() * 8 / 1e9);
        return measured.getBytesPerSecond() * MUCH_SLOWER < middle
                ? Finding.problem(what, text + ", less than a quarter of the middle one: look at its link and its load")
                : Finding.ok(what, text);
    }
}
