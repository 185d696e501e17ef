package io.jrun.launcher.coordinator;

import io.jrun.comm.control.Frame;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEventPublisher;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Publishes the metrics that workers report, and the number of reports that workers have dropped. The workers bound the
 * rate: about a thousand reports a second from all ranks of a job. Confined to the coordinator's thread.
 */
final class MetricEvents {
    private static final long DROPPED_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final LongSupplier nanoTime;
    private final JobEventPublisher events;
    private long dropped;
    private long published;
    private long nextNanos;

    MetricEvents(LongSupplier nanoTime, JobEventPublisher events) {
        this.nanoTime = nanoTime;
        this.events = events;
        this.nextNanos = nanoTime.getAsLong();
    }

    /** Publishes a report of a worker. */
    void publish(int round, int rank, Frame.Metrics report) {
        events.publish(new JobEvent.MetricReported(round, rank, report.step(), report.values()));
        dropped += report.dropped();
    }

    /** Publishes the number of dropped reports if it has changed and the interval has passed. */
    void tick() {
        if (nanoTime.getAsLong() - nextNanos >= 0) {
            end();
        }
    }

    /** Publishes the number of dropped reports now if it has changed. */
    void end() {
        if (dropped > published) {
            nextNanos = nanoTime.getAsLong() + DROPPED_NANOS;
            published = dropped;
            events.publish(new JobEvent.MetricsDropped(dropped));
        }
    }
}
