package io.jrun.comm.control;

import io.jrun.comm.Metrics;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** The queued metric reports of a rank, by step. Limits their number and their rate. Thread-safe. No method waits. */
final class MetricQueue {
    /**
     * The shortest time between two reports, and before the first report. Further values of the step may be added
     * meanwhile. A person who watches a training does not notice the delay.
     */
    private static final long LEAST_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /**
     * The time per rank of the job between two reports. All ranks together send about a thousand reports a second,
     * which cost the launcher a few percent of a core.
     */
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

    /** Sets the number of ranks that share the rate of the job. */
    synchronized void setWorldSize(int worldSize) {
        periodNanos = Math.max(LEAST_PERIOD_NANOS, worldSize * NANOS_PER_RANK);
    }

    /** Adds a report. Returns true if it is the only report, so that the sender must be woken. */
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

    /** Nanoseconds until the next report may be sent; the largest number if the queue is empty. */
    synchronized long nanosLeft() {
        return waiting.isEmpty() ? Long.MAX_VALUE : nextNanos - nanoTime.getAsLong();
    }

    /** Removes the oldest report and returns it as a frame; an empty array if the queue is empty. */
    byte[] take() {
        List<Frame.Metrics> oldest = take(1);
        return oldest.isEmpty() ? new byte[0] : FrameCodec.encode(oldest.getFirst());
    }

    /** Removes and returns all reports, independent of their times. */
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
