package io.jrun.launcher.trace;

import io.jrun.launcher.event.JobEvent.ClockMeasured;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * The monotonic clock of a host compared with the launcher's clock, from measurements during the job. Between two
 * measurements the difference changes evenly. Immutable.
 */
final class HostClock {
    private static final double NANOS_PER_MILLI = 1e6;
    private static final double NANOS = 1e9;

    private final String host;
    private final List<ClockMeasured> measurements;

    /** @param measurements one or more, in any order */
    HostClock(String host, List<ClockMeasured> measurements) {
        if (measurements.isEmpty()) {
            throw new IllegalArgumentException("the clock of " + host + " was not measured");
        }
        this.host = host;
        this.measurements = measurements.stream()
                .sorted(Comparator.comparingLong(ClockMeasured::launcherNanos))
                .toList();
    }

    /** A time of the host as a time of the launcher's {@link System#nanoTime}. */
    long launcherNanos(long hostNanos) {
        ClockMeasured before = measurements.getFirst();
        for (ClockMeasured after : measurements) {
            if (hostTime(after) >= hostNanos) {
                return hostNanos - between(before, after, hostNanos);
            }
            before = after;
        }
        return hostNanos - before.offsetNanos();
    }

    private static long between(ClockMeasured before, ClockMeasured after, long hostNanos) {
        long length = hostTime(after) - hostTime(before);
        if (length <= 0) {
            return after.offsetNanos();
        }
        double part = (double) (hostNanos - hostTime(before)) / length;
        return before.offsetNanos() + Math.round(part * (after.offsetNanos() - before.offsetNanos()));
    }

    private static long hostTime(ClockMeasured measured) {
        return measured.launcherNanos() + measured.offsetNanos();
    }

    /** The largest error of a time. */
    long errorNanos() {
        return measurements.stream().mapToLong(ClockMeasured::errorNanos).max().orElseThrow();
    }

    /** The difference of the clocks and its error, in words. */
    String words() {
        double seconds = measurements.getFirst().offsetNanos() / NANOS;
        return String.format(
                Locale.ROOT,
                "clock of %s: %+.6f s to the launcher's, to within %.3f ms (%d measurements)",
                host,
                seconds,
                errorNanos() / NANOS_PER_MILLI,
                measurements.size());
    }
}
