package io.jrun.comm.file;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.UserPrincipal;

/**
 * A folder that only this user can read, and the lock of a file in it that this process holds. The next process that
 * makes a folder with the same prefix deletes the folders of processes that were killed. Close the lock after the
 * deletion of the folder. Immutable.
 */
public record LockedFolder(Path path, FileChannel lock) {
    private static final String LOCK = "lock";

    /** Deletes a folder with all files in it. Deletes the lock last, so that a later sweep can delete what is left. */
    @FunctionalInterface
    public interface Deletion {
        /**
         * Deletes the folder.
         *
         * @param lock the locked file in the folder
         */
        void delete(Path folder, Path lock) throws IOException;
    }

    /**
     * Makes a folder, and deletes the folders of killed processes.
     *
     * @param prefix the beginning of the name of the folder
     * @param deletion deletes a folder of a killed process; a failure leaves the folder to the next process
     */
    public static LockedFolder make(Path parent, String prefix, Deletion deletion) throws IOException {
        deleteAbandoned(parent, prefix, deletion);
        Path path = Files.createTempDirectory(parent, prefix);
        // The file gets its name when it is locked. Otherwise the sweep of another process could lock the file first,
        // and delete the folder.
        Path made = path.resolve(LOCK + ".new");
        FileChannel lock = FileChannel.open(made, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        if (lock.tryLock() == null) {
            lock.close();
            throw new IOException(path + " is locked by another process");
        }
        Files.move(made, path.resolve(LOCK), StandardCopyOption.ATOMIC_MOVE);
        return new LockedFolder(path, lock);
    }

    /** Deletes this folder with {@code deletion}, and then closes the lock. */
    public void delete(Deletion deletion) throws IOException {
        deletion.delete(path, path.resolve(LOCK));
        lock.close();
    }

    private static void deleteAbandoned(Path parent, String prefix, Deletion deletion) throws IOException {
        UserPrincipal self = Files.getOwner(Path.of("/proc/self"));
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(parent, prefix + "*")) {
            for (Path folder : folders) {
                deleteIfAbandoned(folder, self, deletion);
            }
        }
    }

    /** A folder without the file is about to get it, or is deleted at this moment. */
    private static void deleteIfAbandoned(Path folder, UserPrincipal self, Deletion deletion) {
        try {
            if (Files.getOwner(folder, LinkOption.NOFOLLOW_LINKS).equals(self)) {
                deleteIfUnlocked(folder, deletion);
            }
        } catch (IOException | OverlappingFileLockException _) {
            return; // the folder of another thread or process, which may delete it at this moment
        }
    }

    private static void deleteIfUnlocked(Path folder, Deletion deletion) throws IOException {
        Path file = folder.resolve(LOCK);
        try (FileChannel lock = FileChannel.open(file, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
            if (lock.tryLock() != null) {
                deletion.delete(folder, file);
            }
        }
    }
}
