package io.jrun.comm.backend;

import io.jrun.comm.RankLag;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Statistics of one rank's waits for other ranks in collectives, by the kind of operation and by the rank that came
 * last. A backend adds each wait that is longer than a short spin. A wait begins when this rank enters the collective,
 * on the clock of this rank. Over TCP the wait lasts until the first data of each neighbour, and the neighbour may
 * itself have waited for another rank. Thread-safe.
 */
public final class WaitTimes {
    /** Four buckets for each power of two of nanoseconds: a quantile is at most a quarter too large. */
    private static final int BUCKETS = 4 * Long.SIZE;

    private static final long NONE = -1;

    /** {@link #settle} returns this for a collective in which this rank has not waited. */
    public static final long NO_WAIT = 0;

    private static final int NANOS_BITS = 44; // Almost five hours; the rest holds a million ranks.
    private static final long MAX_NANOS = (1L << NANOS_BITS) - 1;

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

        void add(Waits others) {
            Arrays.setAll(buckets, bucket -> buckets[bucket] + others.buckets[bucket]);
            count += others.count;
            totalNanos += others.totalNanos;
            maxNanos = Math.max(maxNanos, others.maxNanos);
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

        RankLag lag(int rank) {
            return new RankLag(
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

    /** Waits by kind and rank. The arrays grow with the first wait for a rank. */
    private final @Nullable Waits[][] byKind = new Waits[OpKind.values().length][0];

    private long totalNanos;
    private int lastRank;
    private volatile long longestNanos = NONE;

    /**
     * Records that this rank has waited {@code nanos} for all ranks in the running collective, and that
     * {@code worldRank} came last. If a collective has several parts, the longest wait counts.
     */
    public synchronized void add(int worldRank, long nanos) {
        if (nanos > longestNanos) {
            lastRank = worldRank;
            longestNanos = nanos;
        }
    }

    /**
     * Ends the running collective. Allocates only for the first wait for a rank.
     *
     * @return {@link #NO_WAIT}, or the late rank and the wait, see {@link #lateRank} and {@link #lateNanos}
     */
    public long settle(OpKind kind) {
        return longestNanos == NONE ? NO_WAIT : count(kind);
    }

    private synchronized long count(OpKind kind) {
        waits(kind, lastRank).add(longestNanos);
        totalNanos += longestNanos;
        long late = (lastRank + 1L) << NANOS_BITS | Math.min(longestNanos, MAX_NANOS);
        longestNanos = NONE;
        return late;
    }

    @SuppressWarnings("EnumOrdinal") // Never leaves this class.
    private Waits waits(OpKind kind, int rank) {
        @Nullable Waits[] byRank = byKind[kind.ordinal()];
        if (byRank.length <= rank) {
            byRank = Arrays.copyOf(byRank, rank + 1);
            byKind[kind.ordinal()] = byRank;
        }
        Waits waits = byRank[rank];
        if (waits == null) {
            waits = new Waits();
            byRank[rank] = waits;
        }
        return waits;
    }

    /** The world rank that came last, from the result of {@link #settle}; -1 if this rank has not waited. */
    public static int lateRank(long settled) {
        return (int) (settled >>> NANOS_BITS) - 1;
    }

    /** The wait, from the result of {@link #settle}. */
    public static long lateNanos(long settled) {
        return settled & MAX_NANOS;
    }

    /** All waits together. */
    public synchronized Duration total() {
        return Duration.ofNanos(totalNanos);
    }

    /** The waits by rank, the largest total first. */
    public synchronized List<RankLag> lags() {
        return lags(byKind);
    }

    /** The waits by method, such as {@code allReduce}. Contains only methods in which this rank has waited. */
    @SuppressWarnings("EnumOrdinal") // Never leaves this class.
    public synchronized Map<String, List<RankLag>> lagsByOperation() {
        Map<String, List<RankLag>> byOperation = new TreeMap<>();
        for (OpKind kind : OpKind.values()) {
            List<RankLag> lags = lags(byKind[kind.ordinal()]);
            if (!lags.isEmpty()) {
                byOperation.put(kind.methodName(), lags);
            }
        }
        return byOperation;
    }

    private static List<RankLag> lags(@Nullable Waits[]... kinds) {
        Map<Integer, Waits> byRank = new TreeMap<>();
        for (@Nullable Waits[] ofKind : kinds) {
            for (int rank = 0; rank < ofKind.length; rank++) {
                Waits waits = ofKind[rank];
                if (waits != null) {
                    byRank.computeIfAbsent(rank, _ -> new Waits()).add(waits);
                }
            }
        }
        List<RankLag> lags = new ArrayList<>();
        byRank.forEach((rank, waits) -> lags.add(waits.lag(rank)));
        lags.sort(Comparator.comparing(RankLag::total).reversed());
        return lags;
    }
}
