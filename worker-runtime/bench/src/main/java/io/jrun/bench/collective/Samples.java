package io.jrun.bench.collective;

import java.util.Arrays;

/** The durations of repeated calls in nanoseconds. Each duration is the duration of the slowest rank. */
public final class Samples {
    private final double[] sortedNanos;

    /**
     * @param nanos one duration for each call, in nanoseconds
     */
    public Samples(double[] nanos) {
        sortedNanos = nanos.clone();
        Arrays.sort(sortedNanos);
    }

    /** The median. */
    public double medianNanos() {
        int half = sortedNanos.length / 2;
        return sortedNanos.length % 2 == 1 ? sortedNanos[half] : (sortedNanos[half - 1] + sortedNanos[half]) / 2;
    }

    /** The minimum. */
    public double minNanos() {
        return sortedNanos[0];
    }
}
