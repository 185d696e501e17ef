package io.jrun.launcher.metrics;

import io.jrun.launcher.event.GpuLoad;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEvent.GpusReported;
import io.jrun.launcher.event.JobEvent.MetricReported;
import io.jrun.launcher.event.JobEvent.NodeLost;
import io.jrun.launcher.event.JobEvent.RoundStarted;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.prometheus.metrics.model.snapshots.PrometheusNaming;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The latest value of each metric of each rank of the present round, as gauges {@code jrun_training_NAME{run,rank}}, and
 * the load of the GPUs.
 * Thread-safe.
 */
final class JobMetricSnapshots {
    private static final String PREFIX = "jrun_training_";
    private static final String STEP = "step";

    private final String runId;
    /** By the name of the gauge, then by rank. */
    private final Map<String, Map<Integer, Double>> values = new TreeMap<>();

    /** The last report of each node about its GPUs. */
    private final Map<Integer, GpusReported> gpus = new TreeMap<>();

    private double round;
    private double restarts;

    /** A gauge of a GPU, and the value of which it is made. */
    private record GpuGauge(String name, String help, String value, double factor) {}

    private static final List<GpuGauge> GPU_GAUGES = List.of(
            new GpuGauge(
                    "jrun_gpu_utilization_ratio",
                    "Part of the last sampling period in which a kernel ran.",
                    GpuLoad.UTILIZATION_PERCENT,
                    0.01),
            new GpuGauge("jrun_gpu_memory_used_bytes", "Memory in use.", GpuLoad.MEMORY_USED_BYTES, 1),
            new GpuGauge("jrun_gpu_memory_total_bytes", "Memory of the GPU.", GpuLoad.MEMORY_TOTAL_BYTES, 1),
            new GpuGauge("jrun_gpu_temperature_celsius", "Temperature of the chip.", GpuLoad.TEMPERATURE_CELSIUS, 1),
            new GpuGauge("jrun_gpu_power_watts", "Power of the board.", GpuLoad.POWER_WATTS, 1));

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
            case GpusReported report -> gpus.put(report.node(), report);
            case NodeLost lost -> gpus.remove(lost.node());
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
        GPU_GAUGES.forEach(gauge -> addGpus(gauge, all));
        return all.build();
    }

    private void addGpus(GpuGauge of, MetricSnapshots.Builder all) {
        GaugeSnapshot.Builder gauge = GaugeSnapshot.builder().name(of.name()).help(of.help());
        boolean isEmpty = true;
        for (GpusReported node : gpus.values()) {
            for (GpuLoad gpu : node.gpus()) {
                Double value = gpu.values().get(of.value());
                if (value != null) {
                    isEmpty = false;
                    gauge.dataPoint(point(
                            value * of.factor(),
                            Labels.of("run", runId, "host", node.host(), "gpu", gpu.device(), "name", gpu.name())));
                }
            }
        }
        if (!isEmpty) {
            all.metricSnapshot(gauge.build());
        }
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
