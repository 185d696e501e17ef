package io.jrun.comm.control;

import io.jrun.comm.Metrics;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** The metric reports of a rank that wait to be sent, by step. Bounds their number and their rate. Thread-safe; nothing here waits. */
final class MetricQueue {
    /**
     * Between two reports, and before the first, to which further values of the step may be added. A person who watches a training
     * does not see the difference.
     */
    private static final long LEAST_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** All ranks of a job together send about a thousand reports a second, which the launcher reads in some percent of a core. */
    private static final long NANOS_PER_RANK = TimeUnit.MILLISECONDS.toNanos(1);

    private final LongSupplier nanoTime;
    private final Map<Long, Map<String, Double>> waiting = new LinkedHashMap<>();
    private long periodNanos = LEAST_PERIOD_NANOS;
    private long nextNanos;
    private long dropped;

    MetricQueue(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        this.nextNanos = nanoTime.getAsLong();
    }

    /** So many ranks share the rate of the job. */
    synchronized void setWorldSize(int worldSize) {
        periodNanos = Math.max(LEAST_PERIOD_NANOS, worldSize * NANOS_PER_RANK);
    }

    /** Adds a report. True if it is the only one, so that the sender has to be woken. */
    synchronized boolean add(long step, Map<String, Double> values) {
        Map<String, Double> before = waiting.get(step);
        if (before == null) {
            if (waiting.isEmpty()) {
                nextNanos = Math.max(nextNanos, nanoTime.getAsLong() + LEAST_PERIOD_NANOS);
            }
            dropOldestOf(Metrics.MAX_QUEUED_STEPS);
            waiting.put(step, new LinkedHashMap<>(values));
            return waiting.size() == 1;
        }
        before.putAll(values);
        if (before.size() > Metrics.MAX_NAMES) {
            waiting.put(step, new LinkedHashMap<>(values));
            dropped++;
        }
        return false;
    }

    private void dropOldestOf(int most) {
        if (waiting.size() >= most) {
            Iterator<Long> oldest = waiting.keySet().iterator();
            oldest.next();
            oldest.remove();
            dropped++;
        }
    }

    /** How long until the next report may be sent; the largest number if none waits. */
    synchronized long nanosLeft() {
        return waiting.isEmpty() ? Long.MAX_VALUE : nextNanos - nanoTime.getAsLong();
    }

    /** The oldest report as a frame, to be sent now; no byte if none waits. */
    byte[] take() {
        List<Frame.Metrics> oldest = take(1);
        return oldest.isEmpty() ? new byte[0] : FrameCodec.encode(oldest.getFirst());
    }

    /** All reports, whether or not it is time for them. */
    List<Frame.Metrics> takeAll() {
        return take(Metrics.MAX_QUEUED_STEPS);
    }

    private synchronized List<Frame.Metrics> take(int most) {
        List<Frame.Metrics> taken = new ArrayList<>();
        Iterator<Map.Entry<Long, Map<String, Double>>> oldest =
                waiting.entrySet().iterator();
        while (oldest.hasNext() && taken.size() < most) {
            Map.Entry<Long, Map<String, Double>> report = oldest.next();
            taken.add(new Frame.Metrics(report.getKey(), report.getValue(), dropped));
            dropped = 0;
            oldest.remove();
        }
        nextNanos = nanoTime.getAsLong() + periodNanos;
        return taken;
    }
}
