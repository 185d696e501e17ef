package io.jrun.agent.files;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;

/**
 * The folder of a job on a node, for its files and, if needed, as its working directory. At the end only unchanged
 * files of the staging are removed. Files that workers have written or changed stay. Confined to one thread at a time.
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

    /**
     * Makes a new folder below {@code parent}, with a number if the name is in use by another agent or by the rest of
     * another job.
     */
    static JobFolder create(Path parent, String name) throws IOException {
        PrivateFolder.claim(parent);
        Path lists = lists(parent);
        PrivateFolder.claim(lists);
        for (int number = 0; ; number++) {
            String free = number == 0 ? name : name + "." + number;
            try {
                Path path = Files.createDirectory(parent.resolve(free), OWNER_ONLY);
                JobFolder folder = new JobFolder(path, StagedFileList.create(lists.resolve(free)));
                folder.recordPlaced(path);
                return folder;
            } catch (FileAlreadyExistsException e) {
                // the next number
            }
        }
    }

    /** Removes the files that killed agents have put into folders below {@code parent}. */
    static void sweep(Path parent) throws IOException {
        if (PrivateFolder.exists(parent) && PrivateFolder.exists(lists(parent))) {
            StagedFileList.sweep(lists(parent));
        }
    }

    /** The folder of the lists. Its name begins with a dot, as no run id does. */
    private static Path lists(Path parent) {
        return parent.resolve(".placed");
    }

    Path path() {
        return path;
    }

    /** Makes a folder and its missing parents. */
    void makeFolder(Path folder) throws IOException {
        if (!folder.startsWith(path)) {
            throw new IOException(folder + " is outside of the job's folder");
        }
        if (!Files.isDirectory(folder)) {
            makeFolderOf(folder);
            Files.createDirectory(folder, OWNER_ONLY);
            recordPlaced(folder);
        }
    }

    /** Makes the parent folder of {@code file}. */
    void makeFolderOf(Path file) throws IOException {
        makeFolder(Objects.requireNonNull(file.getParent(), "a file below the job's folder"));
    }

    /** Records that the staging has put {@code file} there. */
    void recordPlaced(Path file) throws IOException {
        placed.add(file);
    }

    /** Removes the recorded files that are unchanged. */
    void remove() throws IOException {
        placed.remove();
    }
}
