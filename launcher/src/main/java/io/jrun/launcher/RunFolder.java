package io.jrun.launcher;

import io.jrun.agent.files.PrivateFolder;
import io.jrun.comm.file.FileError;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The log folder of a job, locked while the job runs, so that the logs of two jobs never mix under one run id. */
final class RunFolder implements AutoCloseable {
    private static final String LOCK = ".lock";

    private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rwx------");

    private final FileChannel lockFile;
    private final Optional<Path> kept;

    private RunFolder(FileChannel lockFile, Optional<Path> kept) {
        this.lockFile = lockFile;
        this.kept = kept;
    }

    /** The new folder of the logs of an earlier job with the same name, if there was one. */
    Optional<Path> kept() {
        return kept;
    }

    /**
     * Locks {@code folder}, and makes it if it does not exist. Only its user can read the folder, because output may
     * hold secrets. The files of an earlier job with the same name move to {@code RUN_ID.1}, {@code RUN_ID.2} and so
     * on.
     *
     * @param notices receives the new folder of the earlier job's logs
     * @throws UsageException if the folder cannot be written, or another job writes there
     */
    static RunFolder claim(Path folder, Consumer<String> notices) {
        try {
            FileChannel lock = lock(folder);
            if (!hasLogs(folder)) {
                return new RunFolder(lock, Optional.empty());
            }
            Path kept = unused(folder);
            Files.move(folder, kept);
            lock.close();
            notices.accept("the logs of an earlier job of this name are now in " + kept);
            return new RunFolder(lock(folder), Optional.of(kept));
        } catch (IOException e) {
            throw new UsageException("the log folder " + folder + " cannot be written: " + FileError.reason(e, folder)
                    + "; give another with --log-dir.");
        }
    }

    private static FileChannel lock(Path folder) throws IOException {
        PrivateFolder.claim(folder);
        if (!Files.getPosixFilePermissions(folder).equals(OWNER_ONLY)) {
            Files.setPosixFilePermissions(folder, OWNER_ONLY); // made by an earlier version or by the user
        }
        FileChannel file = FileChannel.open(
                folder.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
        if (isHeldElsewhere(file)) {
            file.close();
            throw new UsageException("--run-id: a job called '" + folder.getFileName() + "' is running and writes to "
                    + folder + "; choose another --run-id or --log-dir, or wait for its end.");
        }
        return file;
    }

    /**
     * Whether another process holds the lock. The lock ends when the channel is closed, at the latest at the end of the
     * process.
     */
    private static boolean isHeldElsewhere(FileChannel file) {
        try {
            @Nullable FileLock lock = file.tryLock();
            return lock == null;
        } catch (IOException e) {
            return false; // a file system without locks: run the job without a lock
        }
    }

    private static boolean hasLogs(Path folder) throws IOException {
        try (DirectoryStream<Path> attempts = Files.newDirectoryStream(folder, "attempt-*")) {
            return attempts.iterator().hasNext();
        }
    }

    private static Path unused(Path folder) {
        int number = 1;
        while (Files.exists(folder.resolveSibling(folder.getFileName() + "." + number))) {
            number++;
        }
        return folder.resolveSibling(folder.getFileName() + "." + number);
    }

    @Override
    public void close() throws IOException {
        lockFile.close();
    }
}
