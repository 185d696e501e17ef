package io.jrun.launcher.image;

import io.jrun.agent.image.FolderDeletion;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A folder for the files of one command. The command holds the lock of a file in the folder. The next command deletes
 * the folders of commands that were killed.
 */
record ImageCommandFolder(Path path, FileChannel lock) implements AutoCloseable {
    private static final Path PARENT = Path.of(System.getProperty("java.io.tmpdir", "/tmp"));
    private static final String PREFIX = "jrun-image-";
    private static final String LOCK = "lock";
    private static final String ROOT = "root";
    private static final long END_SECONDS = 10;

    /** One thread deletes: the command at its end, or the shutdown hook. */
    private static final Semaphore DELETION = new Semaphore(1);

    static ImageCommandFolder make() throws IOException {
        deleteAbandoned();
        Path path = Files.createTempDirectory(PARENT, PREFIX);
        FileChannel lock =
                FileChannel.open(path.resolve(LOCK), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        if (lock.tryLock() == null) {
            lock.close();
            throw new IOException(path + " is locked by another process");
        }
        ImageCommandFolder folder = new ImageCommandFolder(path, lock);
        Runtime.getRuntime().addShutdownHook(new Thread(folder::deleteQuietly, "jrun-image-temporary"));
        return folder;
    }

    private static void deleteAbandoned() throws IOException {
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(PARENT, PREFIX + "*")) {
            for (Path folder : folders) {
                if (Files.getOwner(folder, LinkOption.NOFOLLOW_LINKS).equals(Files.getOwner(Path.of("/proc/self")))
                        && isAbandoned(folder.resolve(LOCK))) {
                    delete(folder);
                }
            }
        }
    }

    /** A folder without the file is about to get it. */
    private static boolean isAbandoned(Path file) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
            return channel.tryLock() != null;
        } catch (IOException e) {
            return false;
        }
    }

    /** Deletes the lock last. The next command deletes the files that cannot be deleted now. */
    private static void delete(Path folder) throws IOException {
        FolderDeletion.delete(folder.resolve(ROOT));
        FolderDeletion.delete(folder);
    }

    /**
     * At Ctrl-C and TERM. The program of the command still writes to the folder. The method never releases the permit,
     * so that the command waits, and the process ends with the exit code of the signal.
     */
    private void deleteQuietly() {
        DELETION.acquireUninterruptibly();
        try {
            for (ProcessHandle child : ProcessHandle.current().children().toList()) {
                child.destroy();
                child.onExit().get(END_SECONDS, TimeUnit.SECONDS);
            }
            delete(path);
        } catch (IOException | ExecutionException | TimeoutException e) {
            // the next command deletes the folder
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The folder in which the root file system is made. */
    Path root() {
        return path.resolve(ROOT);
    }

    @Override
    public void close() throws IOException {
        DELETION.acquireUninterruptibly();
        try {
            delete(path);
            lock.close();
        } finally {
            DELETION.release();
        }
    }
}
