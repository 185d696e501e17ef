package io.jrun.launcher.record;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Bounds the metrics that are recorded. The first 16 MiB of the file take all reports, the next take a report of each
 * rank every 0.2 s, and the period doubles with each further 16 MiB. The file therefore grows with the logarithm of the
 * job's duration. The last report of each rank is always recorded, at the end at the latest. Confined to one thread.
 */
final class MetricThinning {
    private static final long FIRST_PERIOD_MILLIS = 100;
    private static final int DOUBLING_BYTES = 16 << 20;

    /** The largest number of doublings. The period is then some days. */
    private static final long MOST_DOUBLINGS = 22;

    private final Map<Integer, Long> recordedMillis = new HashMap<>();
    private final Map<Integer, String> skipped = new TreeMap<>();
    private long bytes;

    /** The line if a report of {@code rank} at this time is recorded, else empty. Negative numbers stand for reports of nodes. */
    Optional<String> take(int rank, long timeMillis, String line) {
        Long last = recordedMillis.get(rank);
        if (last != null && timeMillis - last < periodMillis()) {
            skipped.put(rank, line);
            return Optional.empty();
        }
        skipped.remove(rank);
        recordedMillis.put(rank, timeMillis);
        return Optional.of(line);
    }

    private long periodMillis() {
        long doublings = Math.min(bytes / DOUBLING_BYTES, MOST_DOUBLINGS);
        return doublings == 0 ? 0 : FIRST_PERIOD_MILLIS << doublings;
    }

    /** Adds the bytes by which the file has grown. */
    void written(long count) {
        bytes += count;
    }

    /** The last reports of ranks whose last report is not recorded. */
    Collection<String> rest() {
        return skipped.values();
    }
}
