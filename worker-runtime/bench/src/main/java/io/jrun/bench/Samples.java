package io.jrun.bench;

import java.util.Arrays;

/** Durations of repeated calls in nanoseconds; the slowest rank's for each call, so that no rank hides another. */
final class Samples {
    private final double[] sortedNanos;

    Samples(double[] nanos) {
        sortedNanos = nanos.clone();
        Arrays.sort(sortedNanos);
    }

    double medianNanos() {
        int half = sortedNanos.length / 2;
        return sortedNanos.length % 2 == 1 ? sortedNanos[half] : (sortedNanos[half - 1] + sortedNanos[half]) / 2;
    }

    double minNanos() {
        return sortedNanos[0];
    }
}
