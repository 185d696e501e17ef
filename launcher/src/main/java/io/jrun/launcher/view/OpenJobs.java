package io.jrun.launcher.view;

import io.jrun.comm.file.FileError;
import io.jrun.launcher.record.JobIndex;
import io.jrun.launcher.record.RecordSchema;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The jobs of the user, each read once and then only as far as it grows. Thread-safe. */
public final class OpenJobs {
    /** The youngest jobs. A list with more is of no use, and its records would be read again and again. */
    private static final int MOST_JOBS = 500;

    /** A job has no record in the first moments after its entry in the index. */
    private static final long BEGIN_MILLIS = 5000;

    private final JobIndex index;
    private final Map<String, OpenJob> jobs = new TreeMap<>();

    public OpenJobs(JobIndex index) {
        this.index = index;
    }

    /**
     * A job that was read.
     *
     * @param identity the file of the record: a later job of the same name has another file
     */
    public record OpenJob(JobView view, JobLogs logs, Object identity) {}

    /**
     * A job with its new events.
     *
     * @throws IOException with one line if there is no such job, or it cannot be read
     */
    public OpenJob find(String name) throws IOException {
        Path logs = index.folders().get(name);
        if (logs == null) {
            throw new IOException("there is no job of this name");
        }
        return open(name, logs);
    }

    private OpenJob open(String name, Path logs) throws IOException {
        Object identity = identity(logs);
        OpenJob known = known(name);
        if (known == null || !known.identity().equals(identity)) {
            JobView view = new JobView(name, logs);
            known = new OpenJob(view, new JobLogs(view), identity);
            put(name, known);
        } else if (!known.view().record().isOver()) {
            known.view().refresh();
        }
        return known;
    }

    private synchronized @Nullable OpenJob known(String name) {
        return jobs.get(name);
    }

    private synchronized void put(String name, OpenJob job) {
        jobs.put(name, job);
    }

    private static Object identity(Path logs) throws IOException {
        BasicFileAttributes attributes =
                Files.readAttributes(logs.resolve(RecordSchema.EVENTS), BasicFileAttributes.class);
        return Objects.requireNonNullElse(attributes.fileKey(), logs);
    }

    private record Listed(long startMillis, Map<String, Object> json) {}

    /** All jobs as JSON, the youngest first. A job that cannot be read has {@code problem} instead of its facts. */
    public List<Map<String, Object>> list() {
        List<Listed> all = new ArrayList<>();
        Map<String, Path> folders = youngest(index.folders());
        folders.forEach((name, logs) -> all.add(listed(name, logs)));
        forgetAllBut(folders);
        return all.stream()
                .sorted(Comparator.comparingLong(Listed::startMillis).reversed())
                .map(Listed::json)
                .toList();
    }

    /** The running jobs, with their new events. Jobs that cannot be read are left out. */
    public List<JobView> running() {
        Map<String, Path> folders = youngest(index.folders());
        forgetAllBut(folders);
        List<JobView> running = new ArrayList<>();
        folders.forEach((name, logs) -> {
            try {
                JobView view = open(name, logs).view();
                if (!view.record().isOver()) {
                    running.add(view);
                }
            } catch (IOException e) {
                // the job has no event yet, or this version of jrun cannot read its record
            }
        });
        running.sort(Comparator.comparingLong(view -> view.record().startedMillis()));
        return running;
    }

    private Listed listed(String name, Path logs) {
        try {
            JobView view = open(name, logs).view();
            return new Listed(view.record().startedMillis(), view.head());
        } catch (IOException | RuntimeException e) {
            long begun = modified(logs).orElse(0L);
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("runId", name);
            if (System.currentTimeMillis() - begun < BEGIN_MILLIS) {
                json.put("state", "starting");
                json.put("startTime", begun / 1000.0);
            } else {
                json.put("problem", FileError.reason(e, logs));
            }
            return new Listed(begun, json);
        }
    }

    private static Map<String, Path> youngest(Map<String, Path> folders) {
        if (folders.size() <= MOST_JOBS) {
            return folders;
        }
        Map<String, Path> youngest = new LinkedHashMap<>();
        folders.entrySet().stream()
                .sorted(Comparator.comparingLong((Map.Entry<String, Path> job) ->
                        -modified(job.getValue()).orElse(0L)))
                .limit(MOST_JOBS)
                .forEach(job -> youngest.put(job.getKey(), job.getValue()));
        return youngest;
    }

    private static Optional<Long> modified(Path logs) {
        try {
            return Optional.of(Files.getLastModifiedTime(logs).toMillis());
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private synchronized void forgetAllBut(Map<String, Path> folders) {
        jobs.keySet().retainAll(folders.keySet());
    }
}
