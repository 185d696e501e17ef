package io.jrun.comm.file;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.UserPrincipal;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A folder for temporary files that only this user can read. The process holds the lock of a file in the folder. The
 * end of the process deletes the folder, also after SIGTERM. The next process that makes a folder with the same prefix
 * deletes the folders of processes that were killed. Thread-safe.
 */
public final class TemporaryFolder implements AutoCloseable {
    private static final String LOCK = "lock";

    private final Path path;
    private final FileChannel lock;
    private final Thread hook = new Thread(this::delete, "temporary-folder");

    private TemporaryFolder(Path path, FileChannel lock) {
        this.path = path;
        this.lock = lock;
    }

    /**
     * Makes a folder.
     *
     * @param prefix the beginning of the name of the folder
     */
    public static TemporaryFolder make(Path parent, String prefix) throws IOException {
        deleteAbandoned(parent, prefix);
        Path path = Files.createTempDirectory(parent, prefix);
        FileChannel lock =
                FileChannel.open(path.resolve(LOCK), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        if (lock.tryLock() == null) {
            lock.close();
            throw new IOException(path + " is locked by another process");
        }
        TemporaryFolder folder = new TemporaryFolder(path, lock);
        Runtime.getRuntime().addShutdownHook(folder.hook);
        return folder;
    }

    private static void deleteAbandoned(Path parent, String prefix) throws IOException {
        UserPrincipal self = Files.getOwner(Path.of("/proc/self"));
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(parent, prefix + "*")) {
            for (Path folder : folders) {
                deleteIfAbandoned(folder, self);
            }
        }
    }

    /** A folder without the file is about to get it, or is deleted at this moment. */
    private static void deleteIfAbandoned(Path folder, UserPrincipal self) {
        try {
            if (Files.getOwner(folder, LinkOption.NOFOLLOW_LINKS).equals(self)) {
                deleteIfUnlocked(folder);
            }
        } catch (IOException | OverlappingFileLockException _) {
            return; // the folder of another thread or process, which may delete it at this moment
        }
    }

    private static void deleteIfUnlocked(Path folder) throws IOException {
        try (FileChannel lock =
                FileChannel.open(folder.resolve(LOCK), StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
            if (lock.tryLock() != null) {
                delete(folder);
            }
        }
    }

    /** The folder. */
    public Path path() {
        return path;
    }

    private void delete() {
        try {
            delete(path);
        } catch (IOException _) {
            return; // the next process deletes the folder
        }
    }

    /** Deletes the lock last, so that the next process can delete a folder that is left. */
    private static void delete(Path folder) throws IOException {
        Path lock = folder.resolve(LOCK);
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
        delete(path);
        lock.close();
    }
}
