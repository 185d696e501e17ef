package io.jrun.launcher.event;

import java.util.List;
import java.util.Locale;

/**
 * A rank for which the others of a group have waited, while the rank itself has hardly waited.
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
    /** What changes by less than a tenth is no event of its own: a job with a straggler would have one each second. */
    private static final double ALIKE = 1.1;

    /** Whether the same ranks are late, each by about as much. */
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
