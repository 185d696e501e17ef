package io.jrun.launcher.record;

import io.jrun.comm.file.FileError;
import io.jrun.launcher.event.EventJson;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEventListener;
import io.jrun.launcher.json.JsonLine;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Records the events of a running job. A thread of the recorder writes, at most ten times a second, so that neither the
 * start of thousands of workers nor a slow disk delays the job. The last event is written before {@link #close}
 * returns. Thread-safe.
 */
public final class JobRecorder implements JobEventListener, AutoCloseable {
    /** The pause between two writes. Users of {@code jrun ps} do not notice the delay. */
    private static final long PAUSE_NANOS = 100_000_000;

    /** The limit of queued events: several restarts of ten thousand workers. */
    private static final int MOST_WAITING = 1 << 17;

    /** A report may have some kilobytes. */
    private static final int MOST_METRICS_WAITING = 1 << 12;

    private record Timed(long timeMillis, JobEvent event) {}

    private final Path folder;
    private final Consumer<String> notices;
    private final MetricThinning metrics = new MetricThinning();
    private final Thread writer =
            Thread.ofPlatform().daemon().name("jrun-record").unstarted(this::write);
    private List<Timed> waiting = new ArrayList<>();
    private long dropped;
    private boolean closed;

    private JobRecorder(Path folder, Consumer<String> notices) {
        this.folder = folder;
        this.notices = notices;
    }

    /**
     * Begins the record of a job in its log folder.
     *
     * @param notices receives one message if the record cannot be written; the job continues without a record
     */
    public static JobRecorder begin(Path folder, Consumer<String> notices) {
        JobRecorder recorder = new JobRecorder(folder, notices);
        recorder.writer.start();
        return recorder;
    }

    @Override
    public synchronized void on(long timeMillis, JobEvent event) {
        if (closed || waiting.size() >= most(event)) {
            dropped++;
            return;
        }
        waiting.add(new Timed(timeMillis, event));
        if (waiting.size() == 1) {
            notifyAll(); // The writer then pauses, and needs no signal for further events.
        }
    }

    private static int most(JobEvent event) {
        if (event instanceof JobEvent.JobEnded) {
            return Integer.MAX_VALUE;
        }
        return event instanceof JobEvent.MetricReported
                        || event instanceof JobEvent.GpusReported
                        || event instanceof JobEvent.WorkersMeasured
                ? MOST_METRICS_WAITING
                : MOST_WAITING;
    }

    private void write() {
        try (RecordOutput events = RecordOutput.at(folder.resolve(RecordSchema.EVENTS));
                RecordOutput metricFile = RecordOutput.at(folder.resolve(RecordSchema.METRICS))) {
            for (List<Timed> taken = take(); !taken.isEmpty(); taken = take()) {
                write(taken, events, metricFile);
                reportDropped();
            }
            writeRest(metricFile);
        } catch (IOException e) {
            giveUp();
            notices.accept("the job's record cannot be written, so 'jrun ps' will not show the job: "
                    + FileError.reason(e, ""));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void write(List<Timed> taken, RecordOutput events, RecordOutput metricFile) throws IOException {
        for (Timed timed : taken) {
            switch (timed.event()) {
                case JobEvent.MetricReported metric ->
                    addMetric(metrics.take(metric.rank(), timed.timeMillis(), line(timed)), metricFile);
                case JobEvent.GpusReported gpus ->
                    addMetric(metrics.take(ofNode(gpus.node()), timed.timeMillis(), line(timed)), metricFile);
                case JobEvent.WorkersMeasured workers ->
                    addMetric(metrics.take(workersOf(workers.node()), timed.timeMillis(), line(timed)), metricFile);
                default -> events.add(line(timed));
            }
        }
        events.flush();
        metrics.written(metricFile.flush());
    }

    /** The number under which the reports about GPUs of a node are thinned: ranks count from 0, others downwards. */
    private static int ofNode(int node) {
        return -1 - 2 * node;
    }

    /** The number under which the reports about workers of a node are thinned. */
    private static int workersOf(int node) {
        return -2 - 2 * node;
    }

    private static void addMetric(Optional<String> line, RecordOutput metricFile) throws IOException {
        if (line.isPresent()) {
            metricFile.add(line.get());
        }
    }

    private void writeRest(RecordOutput metricFile) throws IOException {
        for (String line : metrics.rest()) {
            metricFile.add(line);
        }
        metricFile.flush();
    }

    private static String line(Timed timed) {
        return JsonLine.of(EventJson.of(timed.timeMillis(), timed.event()));
    }

    /** Waits for an event, then briefly for further events. Empty after the last event. */
    private synchronized List<Timed> take() throws InterruptedException {
        while (waiting.isEmpty() && !closed) {
            wait();
        }
        long deadline = System.nanoTime() + PAUSE_NANOS;
        for (long left = PAUSE_NANOS; !closed && left > 0; left = deadline - System.nanoTime()) {
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
        List<Timed> taken = waiting;
        waiting = new ArrayList<>();
        return taken;
    }

    private void reportDropped() {
        long count = takeDropped();
        if (count > 0) {
            notices.accept(count + " events of this job are not in its record: the file system of " + folder
                    + " was too slow to take them");
        }
    }

    private synchronized long takeDropped() {
        long count = dropped;
        dropped = 0;
        return count;
    }

    private synchronized void giveUp() {
        closed = true;
        waiting.clear();
    }

    /** Writes all queued events. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        try {
            writer.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
