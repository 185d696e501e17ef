package io.jrun.launcher.record;

import java.util.HashMap;
import java.util.Map;

/**
 * Bounds the metrics that are recorded. A rank's reports are recorded at least a tenth of a second apart. The distance doubles
 * with every further 16 MiB of the file, so that the file grows with the logarithm of the job's duration. Confined to one thread.
 */
final class MetricThinning {
    private static final long FIRST_DISTANCE_MILLIS = 100;
    private static final int DOUBLING_BYTES = 16 << 20;

    /** Beyond that, the distance is some days. */
    private static final int MOST_DOUBLINGS = 22;

    private final Map<Integer, Long> recordedMillis = new HashMap<>();
    private long bytes;

    /** Whether a report of {@code rank} at this time is recorded. */
    boolean records(int rank, long timeMillis) {
        Long last = recordedMillis.get(rank);
        if (last != null && timeMillis - last < distanceMillis()) {
            return false;
        }
        recordedMillis.put(rank, timeMillis);
        return true;
    }

    private long distanceMillis() {
        return FIRST_DISTANCE_MILLIS << Math.min(bytes / DOUBLING_BYTES, MOST_DOUBLINGS);
    }

    /** The file has grown by so much. */
    void written(long count) {
        bytes += count;
    }
}
