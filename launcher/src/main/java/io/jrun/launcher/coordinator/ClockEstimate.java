package io.jrun.launcher.coordinator;

import java.util.Optional;

/**
 * The difference between the monotonic clock of an agent and the clock of the launcher, from the times of pings. The
 * agent has read its clock at some time between the sending of the ping and the arrival of the answer. The middle of
 * the shortest of several round trips is therefore right to within half of this round trip. Confined to the thread that
 * reads the messages of the agent.
 */
final class ClockEstimate {
    /** The pings of the first measurement, one directly after another. */
    private static final int FIRST_PINGS = 8;

    /** The pings of each later measurement, at 2 s: clocks drift apart by some 10 microseconds a second. */
    private static final int LATER_PINGS = 5;

    private int pings;
    private boolean hasMeasured;
    private long shortestNanos = Long.MAX_VALUE;
    private long offsetNanos;
    private long atNanos;

    /**
     * A measurement.
     *
     * @param offsetNanos the agent's {@link System#nanoTime} minus the launcher's
     * @param errorNanos the largest error of the offset
     * @param atNanos the launcher's {@link System#nanoTime}
     */
    record Measurement(long offsetNanos, long errorNanos, long atNanos) {}

    /** Takes the times of a ping. Returns the measurement that is complete with this ping. */
    Optional<Measurement> take(long sentNanos, long agentNanos, long receivedNanos) {
        long roundTrip = receivedNanos - sentNanos;
        if (roundTrip < shortestNanos) {
            shortestNanos = roundTrip;
            atNanos = sentNanos + roundTrip / 2;
            offsetNanos = agentNanos - atNanos;
        }
        pings++;
        if (pings < (hasMeasured ? LATER_PINGS : FIRST_PINGS)) {
            return Optional.empty();
        }
        Measurement measurement = new Measurement(offsetNanos, (shortestNanos + 1) / 2, atNanos);
        hasMeasured = true;
        pings = 0;
        shortestNanos = Long.MAX_VALUE;
        return Optional.of(measurement);
    }

    /** Whether the next ping is due at once. */
    boolean isUrgent() {
        return !hasMeasured;
    }
}
