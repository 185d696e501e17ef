package io.jrun.agent.files;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;

/**
 * A job's own folder on a node, for its files and, where there is no other, as its working directory. In the end only what was
 * put there is removed: what workers have written or changed stays. Confined to one thread at a time.
 */
final class JobFolder {
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private final Path path;
    private final StagedFileList placed;

    private JobFolder(Path path, StagedFileList placed) {
        this.path = path;
        this.placed = placed;
    }

    /** A new one below {@code parent}; with a number where the name is taken, by another agent or what a job has left. */
    static JobFolder create(Path parent, String name) throws IOException {
        Path lists = Files.createDirectories(lists(parent), OWNER_ONLY);
        for (int number = 0; ; number++) {
            String free = number == 0 ? name : name + "." + number;
            try {
                Path path = Files.createDirectory(parent.resolve(free), OWNER_ONLY);
                JobFolder folder = new JobFolder(path, StagedFileList.create(lists.resolve(free)));
                folder.remember(path);
                return folder;
            } catch (FileAlreadyExistsException e) {
                // the next number
            }
        }
    }

    /** Removes what agents that were killed have put into folders below {@code parent}. */
    static void sweep(Path parent) throws IOException {
        StagedFileList.sweep(lists(parent));
    }

    /** No run id begins with a dot. */
    private static Path lists(Path parent) {
        return parent.resolve(".placed");
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
        placed.add(file);
    }

    /** Removes what was put there and is unchanged. */
    void remove() throws IOException {
        placed.remove();
    }
}
