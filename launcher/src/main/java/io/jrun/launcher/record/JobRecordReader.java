package io.jrun.launcher.record;

import io.jrun.agent.node.ProcessIdentity;
import io.jrun.launcher.event.EventJsonReader;
import io.jrun.launcher.json.JsonLine;
import io.jrun.launcher.record.JobRecord.RecordedState;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Reads the record of a job, again and again while the job runs: each call reads only the events since the last call.
 * Ignores unknown fields and event types. A record that is damaged is read up to the damage. Confined to one thread.
 */
public final class JobRecordReader {
    private final Path file;
    private final Predicate<ProcessIdentity> isGone;
    private final GrowingFile lines;
    private final JobRecordBuilder builder = new JobRecordBuilder();
    private boolean hasHeader;
    private boolean damaged;

    /** Reads the record in {@code folder}, the log folder of a job. */
    public JobRecordReader(Path folder) {
        this(folder, launcher -> launcher.isOnThisMachine() && !launcher.isAlive());
    }

    /**
     * @param isGone whether a launcher has surely ended; false for launchers of other machines, whose state is unknown
     *     here
     */
    JobRecordReader(Path folder, Predicate<ProcessIdentity> isGone) {
        this.file = folder.resolve(RecordSchema.EVENTS);
        this.isGone = isGone;
        this.lines = new GrowingFile(file);
    }

    /** Reads the record in {@code folder} once. */
    public static JobRecord read(Path folder) throws IOException {
        return new JobRecordReader(folder).read();
    }

    /**
     * The record until now. The state is LOST if the launcher has ended without a record of the end.
     *
     * @throws IOException if the record does not exist yet, or this version of jrun cannot read it
     */
    public JobRecord read() throws IOException {
        JobRecord record = recorded();
        if (record.state() == RecordedState.ENDED || !isGone.test(record.job().launcher())) {
            return record;
        }
        JobRecord last = recorded(); // The launcher may have recorded the end before its own end.
        return last.state() == RecordedState.ENDED ? last : last.lost();
    }

    private JobRecord recorded() throws IOException {
        lines.read(this::read);
        return builder.build().orElseThrow(() -> new IOException(file + " has no event yet"));
    }

    private void read(String line) throws IOException {
        if (!hasHeader) {
            RecordSchema.checkHeader(line, file);
            hasHeader = true;
        } else if (!damaged) {
            apply(line);
        }
    }

    private void apply(String line) {
        try {
            Map<String, Object> json = JsonLine.read(line);
            EventJsonReader.read(json).ifPresent(event -> builder.on(EventJsonReader.timeMillis(json), event));
        } catch (IOException e) {
            damaged = true;
        }
    }
}
