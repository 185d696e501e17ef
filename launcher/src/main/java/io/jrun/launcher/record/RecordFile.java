package io.jrun.launcher.record;

import io.jrun.launcher.event.EventJsonReader;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEventListener;
import io.jrun.launcher.json.JsonLine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * One file of a record, read again and again while the job runs: each call reads only the events since the last call.
 * Ignores unknown fields and event types. A damaged file is read up to the damage. Confined to one thread.
 */
final class RecordFile {
    private final Path file;
    private final GrowingFile lines;
    private boolean hasHeader;
    private boolean isCut;
    private long number;
    private Optional<String> damage = Optional.empty();

    RecordFile(Path file) {
        this.file = file;
        this.lines = new GrowingFile(file);
    }

    /**
     * Reads only the last {@code bytes} of a longer file. The header and the line in which they begin are skipped.
     *
     * @return whether the file is longer
     */
    boolean skipToLast(long bytes) throws IOException {
        if (Files.size(file) > bytes) {
            lines.skipToLast(bytes);
            hasHeader = true;
            isCut = true;
        }
        return isCut;
    }

    /**
     * Gives {@code listener} the new events.
     *
     * @throws IOException if the file does not exist, or this version of jrun cannot read it
     */
    void read(JobEventListener listener) throws IOException {
        lines.read(line -> read(line, listener));
    }

    private void read(String line, JobEventListener listener) throws IOException {
        number++;
        if (!hasHeader) {
            RecordSchema.checkHeader(line, file);
            hasHeader = true;
        } else if (isCut) {
            isCut = false; // the line in which the last bytes begin
        } else if (damage.isEmpty()) {
            apply(line, listener);
        }
    }

    private void apply(String line, JobEventListener listener) {
        try {
            Map<String, Object> json = JsonLine.read(line);
            Optional<JobEvent> event = EventJsonReader.read(json);
            event.ifPresent(known -> listener.on(EventJsonReader.timeMillis(json), known));
        } catch (IOException | RuntimeException e) {
            damage = Optional.of(file + " is damaged in line " + number + "; jrun shows the job up to there");
        }
    }

    /** One line for the user if the file is damaged. */
    Optional<String> damage() {
        return damage;
    }
}
