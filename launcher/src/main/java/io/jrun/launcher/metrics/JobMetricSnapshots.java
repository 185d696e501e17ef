package io.jrun.launcher.metrics;

import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEvent.MetricReported;
import io.jrun.launcher.event.JobEvent.RoundStarted;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.prometheus.metrics.model.snapshots.PrometheusNaming;
import java.util.Map;
import java.util.TreeMap;

/**
 * The latest value of each metric of each rank of the present round, as gauges {@code jrun_training_NAME{run,rank}}.
 * Thread-safe.
 */
final class JobMetricSnapshots {
    private static final String PREFIX = "jrun_training_";
    private static final String STEP = "step";

    private final String runId;
    /** By the name of the gauge, then by rank. */
    private final Map<String, Map<Integer, Double>> values = new TreeMap<>();

    private double round;
    private double restarts;

    JobMetricSnapshots(String runId) {
        this.runId = runId;
    }

    synchronized void on(JobEvent event) {
        switch (event) {
            case RoundStarted started -> {
                round = started.round();
                restarts = started.restarts();
                values.clear();
            }
            case MetricReported report -> {
                report.values().forEach((name, value) -> put(name, report.rank(), value));
                put(STEP, report.rank(), (double) report.step());
            }
            default -> {} // The other events are no metrics.
        }
    }

    private void put(String name, int rank, double value) {
        String gauge = PrometheusNaming.prometheusName(PrometheusNaming.sanitizeMetricName(PREFIX + name));
        values.computeIfAbsent(gauge, _ -> new TreeMap<>()).put(rank, value);
    }

    synchronized MetricSnapshots current() {
        MetricSnapshots.Builder all = MetricSnapshots.builder()
                .metricSnapshot(ofJob("jrun_job_round", "The round of the job, from 1.", round))
                .metricSnapshot(ofJob("jrun_job_restarts", "Restarts after a failure.", restarts));
        values.forEach((name, byRank) -> {
            GaugeSnapshot.Builder gauge = GaugeSnapshot.builder().name(name);
            byRank.forEach(
                    (rank, value) -> gauge.dataPoint(point(value, Labels.of("run", runId, "rank", rank.toString()))));
            all.metricSnapshot(gauge.build());
        });
        return all.build();
    }

    private GaugeSnapshot ofJob(String name, String help, double value) {
        return GaugeSnapshot.builder()
                .name(name)
                .help(help)
                .dataPoint(point(value, Labels.of("run", runId)))
                .build();
    }

    private static GaugeDataPointSnapshot point(double value, Labels labels) {
        return GaugeDataPointSnapshot.builder().value(value).labels(labels).build();
    }
}
