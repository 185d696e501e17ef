package io.jrun.launcher.record;

import io.jrun.launcher.event.EventJsonReader;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEvent.MetricReported;
import io.jrun.launcher.json.JsonLine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;

/** The last metrics of each rank, from the record of a job. Stateless. */
public final class LatestMetrics {
    /** The bytes at the end of the file that are read: enough for one report of each of ten thousand ranks. */
    private static final long LAST_BYTES = 4 << 20;

    private LatestMetrics() {}

    /**
     * The last report of each rank, by rank, as far as the last 4 MiB of the metrics have one.
     *
     * @param folder the log folder of the job
     */
    public static List<MetricReported> read(Path folder) throws IOException {
        Path file = folder.resolve(RecordSchema.METRICS);
        if (!Files.exists(file)) {
            return List.of();
        }
        TreeMap<Integer, MetricReported> latest = new TreeMap<>();
        GrowingFile lines = new GrowingFile(file);
        lines.skipToLast(LAST_BYTES);
        lines.read(line -> {
            if (event(line).orElse(null) instanceof MetricReported metric) {
                latest.put(metric.rank(), metric);
            }
        });
        return List.copyOf(latest.values());
    }

    /** The report in a line; empty for the header, and for a line that is cut at its beginning. */
    private static Optional<JobEvent> event(String line) {
        try {
            return EventJsonReader.read(JsonLine.read(line));
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
