package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.GroupWait;
import io.jrun.agent.proto.Lag;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * A rank for which the others of a group have waited, while it has hardly waited itself. Every rank counts its own waits
 * only, on its own clock: who comes last to a collective finds all others there. So a rank's lateness is the median of the
 * others' waits less its own, and it is late beyond chance where that is several times the others' usual deviation.
 *
 * @param group name of the group
 * @param seconds that a typical other rank has waited for it
 * @param share of the job's time
 * @param last in how many collectives somebody saw it come last
 * @param collectives of the group
 * @param medianSeconds of the waits for it, where somebody saw it
 * @param p95Seconds the same
 * @param maxSeconds the same
 */
public record Straggler(
        int rank,
        String group,
        double seconds,
        double share,
        long last,
        long collectives,
        double medianSeconds,
        double p95Seconds,
        double maxSeconds) {
    /** The usual limit of the modified z-score. Source: Iglewicz and Hoaglin 1993. */
    private static final double MAX_SCORE = 3.5;

    /** Makes a median absolute deviation comparable with a standard deviation. */
    private static final double DEVIATIONS_PER_MAD = 1.4826;

    /** Ranks that wait for equally long deviate by next to nothing; a tenth of their wait is noise in any case. */
    private static final double LEAST_DEVIATION = 0.1;

    /** What costs less than a twentieth of the time, or than a second, is not worth a line. */
    private static final double LEAST_SHARE = 0.05;

    private static final double LEAST_SECONDS = 1;
    private static final double NANOS = 1e9;

    /**
     * The stragglers, those that cost most first.
     *
     * @param waits by rank
     * @param jobSeconds how long the job took
     */
    static List<Straggler> of(Map<Integer, List<GroupWait>> waits, double jobSeconds) {
        Map<String, Map<Integer, GroupWait>> groups = new TreeMap<>();
        waits.forEach((rank, all) -> all.forEach(wait ->
                groups.computeIfAbsent(wait.getGroup(), _ -> new TreeMap<>()).put(rank, wait)));
        List<Straggler> found = new ArrayList<>();
        groups.forEach((group, byRank) -> byRank.forEach((rank, wait) -> {
            double[] others = byRank.entrySet().stream()
                    .filter(entry -> !entry.getKey().equals(rank))
                    .mapToDouble(entry -> entry.getValue().getWaitedNanos() / NANOS)
                    .toArray();
            double late = others.length == 0 ? 0 : lateness(wait.getWaitedNanos() / NANOS, others);
            if (late >= LEAST_SECONDS && late >= LEAST_SHARE * jobSeconds) {
                found.add(straggler(rank, wait, late, late / jobSeconds, byRank));
            }
        }));
        found.sort(Comparator.comparingDouble(Straggler::seconds).reversed());
        return found;
    }

    /** By how much a wait is shorter than the others'; 0 if that may be chance. */
    private static double lateness(double own, double... others) {
        double median = median(others);
        double[] deviations = new double[others.length];
        for (int i = 0; i < others.length; i++) {
            deviations[i] = Math.abs(others[i] - median);
        }
        double deviation = Math.max(DEVIATIONS_PER_MAD * median(deviations), LEAST_DEVIATION * median);
        return median - own > MAX_SCORE * deviation ? median - own : 0;
    }

    private static double median(double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    private static Straggler straggler(
            int rank, GroupWait own, double late, double share, Map<Integer, GroupWait> byRank) {
        Lag seen = byRank.values().stream()
                .flatMap(wait -> wait.getLagsList().stream())
                .filter(lag -> lag.getRank() == rank)
                .max(Comparator.comparingLong(Lag::getCount))
                .orElse(Lag.getDefaultInstance());
        return new Straggler(
                rank,
                own.getGroup(),
                late,
                share,
                seen.getCount(),
                own.getCollectives(),
                seen.getMedianNanos() / NANOS,
                seen.getP95Nanos() / NANOS,
                seen.getMaxNanos() / NANOS);
    }

    /** A line for the user. */
    public String words() {
        return String.format(
                Locale.ROOT,
                "rank %d was late: the others of group %s waited %.1f s for it (%.0f %% of the job); it came last in %d of"
                        + " %d collectives, by %.1f ms in the middle, %.1f ms at the 95th percentile, %.1f ms at most",
                rank,
                group,
                seconds,
                100 * share,
                last,
                collectives,
                1e3 * medianSeconds,
                1e3 * p95Seconds,
                1e3 * maxSeconds);
    }
}
