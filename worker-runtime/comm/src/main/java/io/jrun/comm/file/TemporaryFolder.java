package io.jrun.comm.file;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A {@link LockedFolder} for temporary files. The end of the process deletes the folder, also after SIGTERM.
 * Thread-safe.
 */
public final class TemporaryFolder implements AutoCloseable {
    private final LockedFolder folder;
    private final Thread hook = new Thread(this::deleteQuietly, "temporary-folder");

    private TemporaryFolder(LockedFolder folder) {
        this.folder = folder;
    }

    /**
     * Makes a folder, and deletes the folders of killed processes.
     *
     * @param prefix the beginning of the name of the folder
     */
    public static TemporaryFolder make(Path parent, String prefix) throws IOException {
        TemporaryFolder made = new TemporaryFolder(LockedFolder.make(parent, prefix, TemporaryFolder::delete));
        Runtime.getRuntime().addShutdownHook(made.hook);
        return made;
    }

    /** The folder. */
    public Path path() {
        return folder.path();
    }

    private void deleteQuietly() {
        try {
            folder.delete(TemporaryFolder::delete);
        } catch (IOException _) {
            return; // the next process deletes the folder
        }
    }

    private static void delete(Path folder, Path lock) throws IOException {
        try (Stream<Path> tree = Files.walk(folder)) {
            List<Path> files = tree.sorted(Comparator.reverseOrder())
                    .filter(file -> !file.equals(lock) && !file.equals(folder))
                    .toList();
            for (Path file : files) {
                Files.deleteIfExists(file);
            }
        } catch (UncheckedIOException e) {
            throw new IOException(e);
        }
        Files.deleteIfExists(lock);
        Files.deleteIfExists(folder);
    }

    /** Deletes the folder. */
    @Override
    public void close() throws IOException {
        try {
            boolean _ = Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException _) {
            return; // the process ends, and the hook deletes the folder
        }
        folder.delete(TemporaryFolder::delete);
    }
}
