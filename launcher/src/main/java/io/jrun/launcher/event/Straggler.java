package io.jrun.launcher.event;

import java.util.List;
import java.util.Locale;

/**
 * A rank for which the others of a group have waited, while the rank itself has hardly waited.
 *
 * @param group the group for messages: {@code world}, or {@code of ranks 0-3}
 * @param seconds the seconds that a typical other rank has waited for this rank
 * @param share the part of the job's time
 * @param score the lateness, in usual deviations of the other ranks
 * @param last the number of collectives in which another rank saw this rank come last
 * @param collectives the number of collectives of the group
 * @param medianSeconds the median of the waits in these last collectives, in seconds
 * @param p95Seconds the 95th percentile of these waits, in seconds
 * @param maxSeconds the maximum of these waits, in seconds
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
    /** The factor of an unimportant change. Without it a job with a straggler would have an event each second. */
    private static final double ALIKE = 1.1;

    /** Whether both lists have the same ranks with about the same seconds. */
    public static boolean areAlike(List<Straggler> some, List<Straggler> others) {
        if (some.size() != others.size()) {
            return false;
        }
        for (int i = 0; i < some.size(); i++) {
            if (!some.get(i).isLike(others.get(i))) {
                return false;
            }
        }
        return true;
    }

    private boolean isLike(Straggler other) {
        return rank == other.rank
                && group.equals(other.group)
                && seconds < other.seconds * ALIKE
                && other.seconds < seconds * ALIKE;
    }

    /** A line for the user, after the job. */
    public String words() {
        return words("was late: others of group %s waited %.1f s (%.0f %% of the job)");
    }

    /** A line for the user, while the job runs. */
    public String wordsSoFar() {
        return words("is late: others of group %s have waited %.1f s so far (%.0f %% of the time)");
    }

    private String words(String how) {
        return String.format(
                Locale.ROOT,
                "rank %d %s; last in %d of %d collectives, by %.1f ms (median), %.1f (95 %%), %.1f (most)",
                rank,
                String.format(Locale.ROOT, how, group, seconds, 100 * share),
                last,
                collectives,
                1e3 * medianSeconds,
                1e3 * p95Seconds,
                1e3 * maxSeconds);
    }
}
