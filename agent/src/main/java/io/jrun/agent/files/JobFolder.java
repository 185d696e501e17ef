package io.jrun.agent.files;

import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.Optional;

/**
 * A job's own folder on a node, for its files and, where there is no other, as its working directory. In the end only what was
 * put there is removed: what workers have written or changed stays. Confined to one thread at a time.
 */
final class JobFolder {
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private final Path path;
    private final Deque<Placed> placed = new ArrayDeque<>();

    /** A file or folder as it was put there; folders have no time. */
    private record Placed(Path path, Object key, Optional<FileTime> modified) {}

    private JobFolder(Path path) {
        this.path = path;
    }

    /** A new one below {@code parent}; with a number where the name is taken, by another agent or what a job has left. */
    static JobFolder create(Path parent, String name) throws IOException {
        Files.createDirectories(parent, OWNER_ONLY);
        for (int number = 0; ; number++) {
            try {
                JobFolder folder = new JobFolder(parent.resolve(number == 0 ? name : name + "." + number));
                Files.createDirectory(folder.path, OWNER_ONLY);
                folder.remember(folder.path);
                return folder;
            } catch (FileAlreadyExistsException e) {
                // the next number
            }
        }
    }

    Path path() {
        return path;
    }

    /** Makes a folder, and those above it. */
    void makeFolder(Path folder) throws IOException {
        if (!folder.startsWith(path)) {
            throw new IOException(folder + " is outside of the job's folder");
        }
        if (!Files.isDirectory(folder)) {
            makeFolderOf(folder);
            Files.createDirectory(folder, OWNER_ONLY);
            remember(folder);
        }
    }

    /** Makes the folder that {@code file} will be in. */
    void makeFolderOf(Path file) throws IOException {
        makeFolder(Objects.requireNonNull(file.getParent(), "a file below the job's folder"));
    }

    /** Remembers that {@code file} was put there. */
    void remember(Path file) throws IOException {
        BasicFileAttributes found = Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        placed.push(new Placed(
                file, found.fileKey(), found.isDirectory() ? Optional.empty() : Optional.of(found.lastModifiedTime())));
    }

    /** Removes what was put there and is unchanged. */
    void remove() throws IOException {
        while (!placed.isEmpty()) {
            Placed next = placed.pop();
            try {
                BasicFileAttributes found =
                        Files.readAttributes(next.path(), BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
                boolean same = Objects.equals(next.key(), found.fileKey());
                if (same
                        && next.modified().map(found.lastModifiedTime()::equals).orElse(true)) {
                    Files.delete(next.path());
                }
            } catch (NoSuchFileException | DirectoryNotEmptyException e) {
                // the worker's doing
            }
        }
    }
}
