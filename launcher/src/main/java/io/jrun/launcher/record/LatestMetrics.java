package io.jrun.launcher.record;

import io.jrun.launcher.event.JobEvent.GpusReported;
import io.jrun.launcher.event.JobEvent.MetricReported;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeMap;

/** The last metrics of each rank and of each node's GPUs, from the record of a job. Stateless. */
public final class LatestMetrics {
    /** The bytes at the end of the file that are read: enough for one report of each of ten thousand ranks. */
    private static final long LAST_BYTES = 4 << 20;

    private LatestMetrics() {}

    /**
     * The last reports, as far as the last 4 MiB of the metrics have them.
     *
     * @param ranks the last report of each rank, by rank
     * @param gpus the last report of each node about its GPUs, by node
     */
    public record LatestReports(List<MetricReported> ranks, List<GpusReported> gpus) {
        public LatestReports {
            ranks = List.copyOf(ranks);
            gpus = List.copyOf(gpus);
        }
    }

    /**
     * Reads the last reports of a job.
     *
     * @param folder the log folder of the job
     */
    public static LatestReports read(Path folder) throws IOException {
        Path file = folder.resolve(RecordSchema.METRICS);
        if (!Files.exists(file)) {
            return new LatestReports(List.of(), List.of());
        }
        TreeMap<Integer, MetricReported> ranks = new TreeMap<>();
        TreeMap<Integer, GpusReported> nodes = new TreeMap<>();
        RecordFile metrics = new RecordFile(file);
        boolean _ = metrics.skipToLast(LAST_BYTES);
        metrics.read((_, event) -> {
            if (event instanceof MetricReported metric) {
                ranks.put(metric.rank(), metric);
            } else if (event instanceof GpusReported gpus) {
                nodes.put(gpus.node(), gpus);
            }
        });
        return new LatestReports(List.copyOf(ranks.values()), List.copyOf(nodes.values()));
    }
}
