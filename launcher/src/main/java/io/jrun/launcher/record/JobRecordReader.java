package io.jrun.launcher.record;

import io.jrun.agent.node.ProcessIdentity;
import io.jrun.launcher.event.JobEventListener;
import io.jrun.launcher.record.JobRecord.RecordedState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * Reads the record of a job, again and again while the job runs: each call reads only the events since the last call.
 * Ignores unknown fields and event types. A record that is damaged is read up to the damage. Confined to one thread.
 */
public final class JobRecordReader {
    /** A job of ten thousand workers with some restarts has a record of some tens of MiB. */
    private static final long MOST_BYTES = 256L << 20;

    private final Path file;
    private final Predicate<ProcessIdentity> isGone;
    private final RecordFile events;
    private final JobRecordBuilder builder = new JobRecordBuilder();
    private final JobEventListener listener;

    /** Reads the record in {@code folder}, the log folder of a job. */
    public JobRecordReader(Path folder) {
        this(folder, (_, _) -> {});
    }

    /**
     * Reads the record in {@code folder}.
     *
     * @param listener receives each event too
     */
    public JobRecordReader(Path folder, JobEventListener listener) {
        this(folder, launcher -> launcher.isOnThisMachine() && !launcher.isAlive(), listener);
    }

    /**
     * @param isGone whether a launcher has surely ended; false for launchers of other machines, whose state is unknown
     *     here
     */
    JobRecordReader(Path folder, Predicate<ProcessIdentity> isGone) {
        this(folder, isGone, (_, _) -> {});
    }

    private JobRecordReader(Path folder, Predicate<ProcessIdentity> isGone, JobEventListener listener) {
        this.file = folder.resolve(RecordSchema.EVENTS);
        this.isGone = isGone;
        this.events = new RecordFile(file);
        this.listener = listener;
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
        BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
        if (!attributes.isRegularFile()) {
            throw new IOException(file + " is no file"); // the read of a named pipe would wait for a writer
        }
        if (attributes.size() > MOST_BYTES) {
            throw new IOException(file + " has " + (attributes.size() >> 20)
                    + " MiB, and jrun reads records of at most " + (MOST_BYTES >> 20) + " MiB");
        }
        events.read((timeMillis, event) -> {
            builder.on(timeMillis, event);
            listener.on(timeMillis, event);
        });
        return builder.build().orElseThrow(() -> new IOException(file + " has no event yet"));
    }

    /** One line for the user if the record is damaged. */
    public Optional<String> damage() {
        return events.damage();
    }
}
