package io.jrun.launcher.view;

import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.record.JobRecord;
import io.jrun.launcher.record.JobRecord.RecordedWorker;
import io.jrun.launcher.record.JobRecordReader;
import io.jrun.launcher.record.MetricsReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The facts of one job, running or ended. {@link #refresh} and {@link #refreshMetrics} read what was recorded since
 * their last call. Thread-safe: one thread at a time reads.
 */
public final class JobView {
    /** Thinned metrics of a long job, see MetricThinning. */
    private static final long MOST_METRIC_BYTES = 128L << 20;

    private final String name;
    private final Path logs;
    private final JobFacts facts = new JobFacts();
    private final JobRecordReader events;
    private final MetricColumns columns = new MetricColumns();
    private final MetricsReader metrics;
    private JobRecord record;
    private long revision;

    /**
     * Reads a job.
     *
     * @param name the name of the job in the index
     * @param logs the log folder of the job
     * @throws IOException with one line if the job has no record that this version of jrun can read
     */
    public JobView(String name, Path logs) throws IOException {
        this.name = name;
        this.logs = logs;
        this.events = new JobRecordReader(logs, (timeMillis, event) -> {
            revision++;
            facts.on(timeMillis, event);
        });
        this.metrics = new MetricsReader(logs, MOST_METRIC_BYTES);
        this.record = events.read();
    }

    /** Reads the new events. */
    public synchronized void refresh() throws IOException {
        JobRecord next = events.read();
        if (next.state() != record.state()) {
            revision++;
        }
        record = next;
    }

    /** Reads the new metrics. */
    public synchronized void refreshMetrics() throws IOException {
        metrics.read((timeMillis, event) -> {
            switch (event) {
                case JobEvent.MetricReported report -> columns.put(timeMillis, report);
                case JobEvent.GpusReported gpus -> facts.on(timeMillis, gpus);
                case JobEvent.WorkersMeasured workers -> facts.on(timeMillis, workers);
                default -> {} // The file has no others.
            }
        });
    }

    /** The name of the job. */
    public String name() {
        return name;
    }

    /** The log folder of the job. */
    public Path logs() {
        return logs;
    }

    /** The record of the job as of the last {@link #refresh}. */
    public synchronized JobRecord record() {
        return record;
    }

    /** Further facts of the job. Confined to the caller of {@link #refresh}. */
    public JobFacts facts() {
        return facts;
    }

    /** A number that rises with each event of the job. */
    public synchronized long revision() {
        return revision;
    }

    /** A number that rises with each report of metrics. */
    public synchronized long metricsRevision() {
        return columns.revision();
    }

    /** The line of the job in a list of jobs, as JSON. */
    public synchronized Map<String, Object> head() {
        return JobJson.head(name, record, facts);
    }

    /** The log folder of a worker; empty if the worker has none, or one outside of the job's log folder. */
    Optional<Path> logFolder(RecordedWorker worker) {
        Path folder = logs.resolve(worker.logFolder()).normalize();
        return worker.logFolder().isEmpty() || !folder.startsWith(logs) ? Optional.empty() : Optional.of(folder);
    }

    /** All facts but metrics, as JSON. */
    public synchronized Map<String, Object> summary() {
        return JobJson.summary(this, columns.latest(), problems());
    }

    /** The last report of each rank. */
    public synchronized Map<Integer, JobEvent.MetricReported> latest() {
        return Map.copyOf(columns.latest());
    }

    /** The metrics over the steps that have changed since a revision, 0 for all, as JSON. */
    public synchronized Map<String, Object> metrics(long since) {
        return columns.json(since);
    }

    /** The times of all ranks over the steps that have changed since a revision, 0 for all, as JSON. */
    public synchronized Map<String, Object> heat(long since) {
        return columns.heatJson(since);
    }

    private List<String> problems() {
        List<String> problems = new ArrayList<>();
        events.damage().ifPresent(problems::add);
        metrics.notice().ifPresent(problems::add);
        return problems;
    }
}
