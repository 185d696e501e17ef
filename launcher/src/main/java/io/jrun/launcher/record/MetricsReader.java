package io.jrun.launcher.record;

import io.jrun.launcher.event.JobEventListener;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Reads the metrics of a job, again and again while the job runs: each call reads only the events since the last call.
 * Confined to one thread.
 */
public final class MetricsReader {
    private final Path file;
    private final long mostBytes;
    private final RecordFile metrics;
    private boolean begun;
    private Optional<String> notice = Optional.empty();

    /**
     * Reads the metrics in {@code folder}, the log folder of a job.
     *
     * @param mostBytes of a longer file only the last bytes are read
     */
    public MetricsReader(Path folder, long mostBytes) {
        this.file = folder.resolve(RecordSchema.METRICS);
        this.mostBytes = mostBytes;
        this.metrics = new RecordFile(file);
    }

    /** Gives {@code listener} the new events. A job without metrics has none. */
    public void read(JobEventListener listener) throws IOException {
        if (!Files.exists(file)) {
            return;
        }
        if (!begun) {
            begun = true;
            if (metrics.skipToLast(mostBytes)) {
                notice = Optional.of("only the last " + (mostBytes >> 20) + " MiB of the metrics are shown, because "
                        + file + " has " + (Files.size(file) >> 20) + " MiB");
            }
        }
        metrics.read(listener);
    }

    /** One line for the user if the metrics are damaged or were not read from the beginning. */
    public Optional<String> notice() {
        return metrics.damage().or(() -> notice);
    }
}
