package io.jrun.launcher.record;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * Where the jobs of this user are: a folder of links, each named like its job and leading to the job's log folder, wherever
 * {@code --log-dir} has put that. A job whose log folder is removed is forgotten.
 */
public final class JobIndex {
    private final Path folder;

    private JobIndex(Path folder) {
        this.folder = folder;
    }

    /** The index in jrun's folder of state, made when it is first needed. */
    public static JobIndex in(Path stateFolder) {
        return new JobIndex(stateFolder.resolve("jobs"));
    }

    /**
     * A job by its name in the index.
     *
     * @param logs its log folder
     */
    public record Entry(String name, Path logs, JobRecord record) {}

    /** From now on {@code name} leads to {@code logs}. */
    public void put(String name, Path logs) throws IOException {
        Files.createDirectories(folder);
        Path link = folder.resolve("." + name + "." + UUID.randomUUID()); // hosts may share the folder, and their pids
        Files.createSymbolicLink(link, logs);
        Files.move(link, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
    }

    /** The job called {@code name}, as far as it has a readable record. */
    public Optional<Entry> find(String name) {
        return entry(folder.resolve(name));
    }

    /** All jobs, the youngest last; links that lead nowhere are removed. */
    public List<Entry> all() {
        List<Entry> entries = new ArrayList<>();
        try (DirectoryStream<Path> links = Files.newDirectoryStream(folder, "[!.]*")) {
            for (Path link : links) {
                entry(link).ifPresent(entries::add);
                if (Files.isSymbolicLink(link) && !Files.exists(link)) {
                    Files.deleteIfExists(link);
                }
            }
        } catch (IOException e) {
            return List.of(); // no job has been recorded so far
        }
        entries.sort(Comparator.comparingLong(entry -> entry.record().startedMillis()));
        return entries;
    }

    private static Optional<Entry> entry(Path link) {
        try {
            Path logs = link.toRealPath();
            return Optional.of(new Entry(String.valueOf(link.getFileName()), logs, RecordFile.read(logs)));
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
