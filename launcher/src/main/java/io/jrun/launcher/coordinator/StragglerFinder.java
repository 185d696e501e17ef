package io.jrun.launcher.coordinator;

import io.jrun.comm.RankLag;
import io.jrun.comm.record.GroupRecord;
import io.jrun.comm.record.RankRanges;
import io.jrun.launcher.event.Straggler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Finds stragglers. Each rank measures only its own waits, on its own clock. The last rank of a collective does not
 * wait. The lateness of a rank is therefore the median of the others' waits minus its own wait. {@link WaitComparison}
 * decides whether the lateness is more than chance. The longest wait of each rank does not count, because a rank that
 * was late once, for example after a slow start or a checkpoint, is not a straggler. Stateless.
 */
final class StragglerFinder {
    /** Lateness below a twentieth of the job's time, or below one second, is not reported. */
    private static final double LEAST_SHARE = 0.05;

    private static final double LEAST_SECONDS = 1;

    /**
     * The lateness is the sum of at least this many long waits. A rank that was late a few times, as in the first steps
     * of a job, is not a straggler.
     */
    private static final int LEAST_TIMES = 6;

    private static final double NANOS = 1e9;

    private StragglerFinder() {}

    /**
     * The stragglers, the most expensive first.
     *
     * @param waits by rank
     * @param jobSeconds how long the job took
     * @param skewSeconds the largest difference between waits that may result from reports at different times
     */
    static List<Straggler> find(Map<Integer, List<GroupRecord>> waits, double jobSeconds, double skewSeconds) {
        Map<String, Map<Integer, GroupRecord>> groups = new TreeMap<>();
        waits.forEach((rank, all) -> all.forEach(wait ->
                groups.computeIfAbsent(wait.name(), _ -> new TreeMap<>()).put(rank, wait)));
        List<Straggler> found = new ArrayList<>();
        groups.values().forEach(byRank -> found.addAll(inGroup(byRank, jobSeconds, skewSeconds)));
        found.sort(Comparator.comparingDouble(Straggler::seconds).reversed());
        return found;
    }

    private static List<Straggler> inGroup(Map<Integer, GroupRecord> byRank, double jobSeconds, double skewSeconds) {
        if (byRank.size() < 2) {
            return List.of();
        }
        WaitComparison comparison = new WaitComparison(byRank.values().stream()
                .mapToDouble(StragglerFinder::waitedSeconds)
                .toArray());
        double least = Math.max(LEAST_SECONDS, LEAST_SHARE * jobSeconds) + skewSeconds;
        Map<Integer, RankLag> seen = new HashMap<>();
        byRank.values().stream()
                .flatMap(wait -> wait.lags().stream())
                .forEach(lag -> seen.merge(lag.rank(), lag, (a, b) -> a.count() >= b.count() ? a : b));
        // The last report of a rank that failed may be older than the reports of the others.
        long collectives =
                byRank.values().stream().mapToLong(GroupRecord::completed).max().orElseThrow();
        List<Straggler> found = new ArrayList<>();
        byRank.forEach((rank, wait) -> {
            double late = comparison.of(waitedSeconds(wait));
            RankLag lag = seen.getOrDefault(rank, RankLag.none(rank));
            if (late >= least && late >= LEAST_TIMES * inSeconds(lag.p95())) {
                double score = comparison.score(waitedSeconds(wait));
                String group = wait.name().equals("world") ? "world" : "of ranks " + RankRanges.of(byRank.keySet());
                found.add(straggler(group, rank, late, late / jobSeconds, score, collectives, lag));
            }
        });
        return found;
    }

    private static double waitedSeconds(GroupRecord wait) {
        return wait.repeatedWaitNanos() / NANOS;
    }

    private static Straggler straggler(
            String group, int rank, double late, double share, double score, long collectives, RankLag seen) {
        return new Straggler(
                rank,
                group,
                late,
                share,
                score,
                seen.count(),
                collectives,
                inSeconds(seen.median()),
                inSeconds(seen.p95()),
                inSeconds(seen.max()));
    }

    private static double inSeconds(Duration time) {
        return time.toNanos() / NANOS;
    }
}
