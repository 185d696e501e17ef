package io.jrun.launcher.record;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;

/**
 * The index of this user's jobs: a folder with one link for each job, from the name of the job to the log folder of the
 * job. {@code --log-dir} may put the log folder anywhere. The index forgets a job whose log folder is removed.
 */
public final class JobIndex {
    private final Path folder;

    private JobIndex(Path folder) {
        this.folder = folder;
    }

    /** The index in jrun's folder of state, made at the first use. */
    public static JobIndex in(Path stateFolder) {
        return new JobIndex(stateFolder.resolve("jobs"));
    }

    /**
     * A job by its name in the index.
     *
     * @param logs the log folder of the job
     */
    public record IndexedJob(String name, Path logs, JobRecord record) {}

    /** Makes or replaces the link from {@code name} to {@code logs}. */
    public void put(String name, Path logs) throws IOException {
        Files.createDirectories(folder);
        Path link = folder.resolve("." + name + "." + UUID.randomUUID()); // hosts may share the folder, and their pids
        Files.createSymbolicLink(link, logs);
        Files.move(link, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
    }

    /** The log folder of the job called {@code name}; empty if the job does not exist. */
    public Optional<Path> logs(String name) {
        try {
            return Optional.of(folder.resolve(name).toRealPath());
        } catch (IOException e) {
            return Optional.empty(); // There is no such job, or its folder was removed.
        }
    }

    /** The log folders of all jobs by name, whether their records can be read or not. */
    public Map<String, Path> folders() {
        Map<String, Path> folders = new TreeMap<>();
        try (DirectoryStream<Path> links = Files.newDirectoryStream(folder, "[!.]*")) {
            for (Path link : links) {
                String name = String.valueOf(link.getFileName());
                logs(name).ifPresent(logs -> folders.put(name, logs));
            }
        } catch (IOException e) {
            return Map.of(); // no job has been recorded so far
        }
        return folders;
    }

    /** All jobs, the youngest last. Removes links to folders that do not exist. */
    public List<IndexedJob> all() {
        List<IndexedJob> entries = new ArrayList<>();
        try (DirectoryStream<Path> links = Files.newDirectoryStream(folder, "[!.]*")) {
            for (Path link : links) {
                if (Files.isSymbolicLink(link) && !Files.exists(link)) {
                    Files.deleteIfExists(link);
                } else {
                    addReadable(link, entries);
                }
            }
        } catch (IOException e) {
            return List.of(); // no job has been recorded so far
        }
        entries.sort(Comparator.comparingLong(entry -> entry.record().startedMillis()));
        return entries;
    }

    private static void addReadable(Path link, List<IndexedJob> entries) {
        try {
            entries.add(entry(link));
        } catch (IOException e) {
            // The job has no event yet, or this version of jrun cannot read its record.
        }
    }

    private static IndexedJob entry(Path link) throws IOException {
        Path logs = link.toRealPath();
        return new IndexedJob(String.valueOf(link.getFileName()), logs, JobRecordReader.read(logs));
    }
}
