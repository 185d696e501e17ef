package io.jrun.comm.backend;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * How long one rank has waited in its collectives for others to come, by who came last: backends tell it of every collective
 * in which they had to wait beyond a short spin. A wait is counted from this rank's own arrival, on its own clock. Over TCP
 * it lasts until the first data of each neighbour is there, which may itself have waited for another. Thread-safe.
 */
public final class WaitTimes {
    /** Four buckets for each power of two of nanoseconds: a quantile is at most a quarter too large. */
    private static final int BUCKETS = 4 * Long.SIZE;

    private static final long NONE = -1;

    /**
     * The waits for one rank.
     *
     * @param rank world rank
     * @param count in how many collectives it came last
     * @param total of all waits for it
     */
    public record Lag(int rank, long count, Duration total, Duration median, Duration p95, Duration max) {}

    private static final class Waits {
        private final long[] buckets = new long[BUCKETS];
        private long count;
        private long totalNanos;
        private long maxNanos;

        void add(long nanos) {
            buckets[bucket(nanos)]++;
            count++;
            totalNanos += nanos;
            maxNanos = Math.max(maxNanos, nanos);
        }

        Duration quantile(double fraction) {
            long left = (long) Math.ceil(fraction * count);
            for (int bucket = 0; bucket < BUCKETS; bucket++) {
                left -= buckets[bucket];
                if (left <= 0) {
                    return Duration.ofNanos(Math.min(end(bucket), maxNanos));
                }
            }
            return Duration.ofNanos(maxNanos);
        }

        Lag lag(int rank) {
            return new Lag(
                    rank,
                    count,
                    Duration.ofNanos(totalNanos),
                    quantile(0.5),
                    quantile(0.95),
                    Duration.ofNanos(maxNanos));
        }

        private static int bucket(long nanos) {
            int power = Long.SIZE - 1 - Long.numberOfLeadingZeros(Math.max(nanos, 4));
            return 4 * power + (int) ((Math.max(nanos, 4) >>> (power - 2)) & 3);
        }

        private static long end(int bucket) {
            return (4L + bucket % 4 + 1) << Math.max(bucket / 4 - 2, 0);
        }
    }

    private final Map<Integer, Waits> byRank = new TreeMap<>();
    private long totalNanos;
    private long sequence = -1;
    private int lastRank;
    private long longestNanos = NONE;

    /**
     * This rank has waited {@code nanos} for all to come, {@code worldRank} being the last. Of a collective that has several
     * parts, the longest wait counts.
     *
     * @param collective its number, never less than before
     */
    public synchronized void add(long collective, int worldRank, long nanos) {
        if (collective > sequence) {
            settle();
            sequence = collective;
        } else if (nanos <= longestNanos) {
            return;
        }
        lastRank = worldRank;
        longestNanos = nanos;
    }

    private void settle() {
        if (longestNanos != NONE) {
            byRank.computeIfAbsent(lastRank, _ -> new Waits()).add(longestNanos);
            totalNanos += longestNanos;
            longestNanos = NONE;
        }
    }

    /** All waits together. */
    public synchronized Duration total() {
        settle();
        return Duration.ofNanos(totalNanos);
    }

    /** The waits by rank, the rank that cost most first. */
    public synchronized List<Lag> lags() {
        settle();
        List<Lag> lags = new ArrayList<>();
        byRank.forEach((rank, waits) -> lags.add(waits.lag(rank)));
        lags.sort(Comparator.comparing(Lag::total).reversed());
        return lags;
    }
}
