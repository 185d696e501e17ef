package io.jrun.launcher.coordinator;

import io.jrun.comm.control.GroupWait;
import io.jrun.comm.control.GroupWait.Lag;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * A rank for which the others of a group have waited, while it has hardly waited itself. Every rank counts its own waits
 * only, on its own clock: who comes last to a collective finds all others there. So a rank's lateness is the median of the
 * others' waits less its own, and it is late beyond chance where that is several times the others' usual deviation, see
 * {@link WaitComparison}.
 *
 * @param group name of the group
 * @param seconds that a typical other rank has waited for it
 * @param share of the job's time
 * @param score by how many of the others' usual deviations it is late
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
        double score,
        long last,
        long collectives,
        double medianSeconds,
        double p95Seconds,
        double maxSeconds) {
    /** What costs less than a twentieth of the time, or than a second, is not worth a line. */
    private static final double LEAST_SHARE = 0.05;

    private static final double LEAST_SECONDS = 1;
    private static final double NANOS = 1e9;

    /**
     * The stragglers, those that cost most first.
     *
     * @param waits by rank
     * @param jobSeconds how long the job took
     * @param skewSeconds how much of a difference may be due to ranks that told of their waits at different moments
     */
    static List<Straggler> of(Map<Integer, List<GroupWait>> waits, double jobSeconds, double skewSeconds) {
        Map<String, Map<Integer, GroupWait>> groups = new TreeMap<>();
        waits.forEach((rank, all) -> all.forEach(wait ->
                groups.computeIfAbsent(wait.group(), _ -> new TreeMap<>()).put(rank, wait)));
        List<Straggler> found = new ArrayList<>();
        groups.values().forEach(byRank -> found.addAll(inGroup(byRank, jobSeconds, skewSeconds)));
        found.sort(Comparator.comparingDouble(Straggler::seconds).reversed());
        return found;
    }

    private static List<Straggler> inGroup(Map<Integer, GroupWait> byRank, double jobSeconds, double skewSeconds) {
        if (byRank.size() < 2) {
            return List.of();
        }
        WaitComparison waitComparison = new WaitComparison(
                byRank.values().stream().mapToDouble(Straggler::waitedSeconds).toArray());
        Map<Integer, Lag> seen = new HashMap<>();
        byRank.values().stream()
                .flatMap(wait -> wait.lags().stream())
                .forEach(lag -> seen.merge(lag.rank(), lag, (a, b) -> a.count() >= b.count() ? a : b));
        List<Straggler> found = new ArrayList<>();
        byRank.forEach((rank, wait) -> {
            double late = waitComparison.of(waitedSeconds(wait));
            if (late >= LEAST_SECONDS + skewSeconds && late >= LEAST_SHARE * jobSeconds + skewSeconds) {
                Lag lag = seen.getOrDefault(rank, new Lag(rank, 0, 0, 0, 0));
                found.add(
                        straggler(wait, rank, late, late / jobSeconds, waitComparison.score(waitedSeconds(wait)), lag));
            }
        });
        return found;
    }

    private static double waitedSeconds(GroupWait wait) {
        return wait.waitedNanos() / NANOS;
    }

    private static Straggler straggler(GroupWait own, int rank, double late, double share, double score, Lag seen) {
        return new Straggler(
                rank,
                own.group(),
                late,
                share,
                score,
                seen.count(),
                own.collectives(),
                seen.medianNanos() / NANOS,
                seen.p95Nanos() / NANOS,
                seen.maxNanos() / NANOS);
    }

    /** A line for the user, after the job. */
    public String words() {
        return words("was late: the others of group %s waited %.1f s for it (%.0f %% of the job)");
    }

    /** The same while it runs. */
    public String wordsSoFar() {
        return words("is late: the others of group %s have waited %.1f s for it so far (%.0f %% of the time)");
    }

    private String words(String how) {
        return String.format(
                Locale.ROOT,
                "rank %d %s; it came last in %d of %d collectives, by %.1f ms in the middle, %.1f ms at the 95th"
                        + " percentile, %.1f ms at most",
                rank,
                String.format(Locale.ROOT, how, group, seconds, 100 * share),
                last,
                collectives,
                1e3 * medianSeconds,
                1e3 * p95Seconds,
                1e3 * maxSeconds);
    }
}
