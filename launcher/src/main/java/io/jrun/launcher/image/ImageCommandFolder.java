package io.jrun.launcher.image;

import io.jrun.agent.image.FolderDeletion;
import io.jrun.comm.file.LockedFolder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A folder for the files of one command. The end of the command deletes the folder, also after Ctrl-C and TERM. */
record ImageCommandFolder(LockedFolder folder) implements AutoCloseable {
    private static final Path PARENT = Path.of(System.getProperty("java.io.tmpdir", "/tmp"));
    private static final String PREFIX = "jrun-image-";
    private static final String ROOT = "root";
    private static final long END_SECONDS = 10;

    /** One thread deletes: the command at its end, or the shutdown hook. */
    private static final Semaphore DELETION = new Semaphore(1);

    static ImageCommandFolder make() throws IOException {
        ImageCommandFolder folder =
                new ImageCommandFolder(LockedFolder.make(PARENT, PREFIX, ImageCommandFolder::delete));
        Runtime.getRuntime().addShutdownHook(new Thread(folder::deleteQuietly, "jrun-image-temporary"));
        return folder;
    }

    /** Deletes the lock last, with the folder. The next command deletes what cannot be deleted now. */
    private static void delete(Path folder, Path lock) throws IOException {
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
            folder.delete(ImageCommandFolder::delete);
        } catch (IOException | ExecutionException | TimeoutException e) {
            // the next command deletes the folder
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    Path path() {
        return folder.path();
    }

    /** The folder in which the root file system is made. */
    Path root() {
        return path().resolve(ROOT);
    }

    @Override
    public void close() throws IOException {
        DELETION.acquireUninterruptibly();
        try {
            folder.delete(ImageCommandFolder::delete);
        } finally {
            DELETION.release();
        }
    }
}
