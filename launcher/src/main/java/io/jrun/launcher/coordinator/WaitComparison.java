package io.jrun.launcher.coordinator;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Compares each wait with all other waits. Sorts once, because the median without one wait is one of at most three
 * values.
 */
final class WaitComparison {
    /** The usual limit of the modified z-score. Source: Iglewicz and Hoaglin 1993. */
    private static final double MAX_SCORE = 3.5;

    /** Scales a median absolute deviation to a standard deviation. */
    private static final double DEVIATIONS_PER_MAD = 1.4826;

    /**
     * The smallest deviation, as a fraction of the median. Ranks with almost equal waits would have a deviation of
     * almost 0.
     */
    private static final double LEAST_DEVIATION = 0.1;

    private final double[] waits;
    private final Map<Double, double[]> deviations = new HashMap<>();

    /** @param waits at least two */
    WaitComparison(double... waits) {
        this.waits = sorted(waits);
    }

    /** The median of the other waits minus {@code own}, one of the waits; 0 if the difference may be chance. */
    double of(double own) {
        double median = medianWithout(own, waits);
        return median - own > MAX_SCORE * deviation(own, median) ? median - own : 0;
    }

    /** The same difference, in deviations of the other waits. */
    double score(double own) {
        double median = medianWithout(own, waits);
        return (median - own) / deviation(own, median);
    }

    private double deviation(double own, double median) {
        double[] all = deviations.computeIfAbsent(median, this::deviations);
        double mad = medianWithout(Math.abs(own - median), all);
        return Math.max(DEVIATIONS_PER_MAD * mad, LEAST_DEVIATION * median);
    }

    private double[] deviations(double median) {
        return sorted(Arrays.stream(waits).map(wait -> Math.abs(wait - median)).toArray());
    }

    private static double[] sorted(double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted;
    }

    /** The median of all but one of {@code sorted}. */
    private static double medianWithout(double one, double... sorted) {
        int gap = Arrays.binarySearch(sorted, one);
        int count = sorted.length - 1;
        double upper = sorted[skipping(gap, count / 2)];
        return count % 2 == 1 ? upper : (sorted[skipping(gap, count / 2 - 1)] + upper) / 2;
    }

    private static int skipping(int gap, int index) {
        return index < gap ? index : index + 1;
    }
}
