package io.jrun.bench.collective;

import java.util.Arrays;

/** Durations of repeated calls in nanoseconds; the slowest rank's for each call, so that no rank hides another. */
public final class Samples {
    private final double[] sortedNanos;

    /** @param nanos one for each call */
    public Samples(double[] nanos) {
        sortedNanos = nanos.clone();
        Arrays.sort(sortedNanos);
    }

    /** The middle one, or the mean of the two. */
    public double medianNanos() {
        int half = sortedNanos.length / 2;
        return sortedNanos.length % 2 == 1 ? sortedNanos[half] : (sortedNanos[half - 1] + sortedNanos[half]) / 2;
    }

    /** The smallest. */
    public double minNanos() {
        return sortedNanos[0];
    }
}
