package io.jrun.launcher;

import io.jrun.launcher.cli.UsageException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A job's log folder, held for this job as long as it runs: no two jobs' logs may mix under one run id. */
final class RunFolder implements AutoCloseable {
    private static final String LOCK = ".lock";

    private final FileChannel lockFile;

    private RunFolder(FileChannel lockFile) {
        this.lockFile = lockFile;
    }

    /**
     * Takes {@code folder}, which is made if it is not there. What an earlier job of the same name left in it is kept
     * beside it, as {@code RUN_ID.1}, {@code RUN_ID.2} and so on.
     *
     * @param say told where the earlier job's logs are
     * @throws UsageException if it cannot be written, or another job is writing there
     */
    static RunFolder claim(Path folder, Consumer<String> say) {
        try {
            RunFolder claimed = lock(folder);
            if (!hasLogs(folder)) {
                return claimed;
            }
            Path kept = unused(folder);
            Files.move(folder, kept);
            claimed.close();
            say.accept("the logs of an earlier job of this name are now in " + kept);
            return lock(folder);
        } catch (IOException e) {
            throw new UsageException("--log-dir: " + folder + " cannot be written: " + e.getMessage() + ".");
        }
    }

    private static RunFolder lock(Path folder) throws IOException {
        Files.createDirectories(folder);
        FileChannel file = FileChannel.open(folder.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        if (isHeldElsewhere(file)) {
            file.close();
            throw new UsageException("--run-id: a job called '" + folder.getFileName() + "' is running and writes to "
                    + folder + "; choose another --run-id or --log-dir, or wait for its end.");
        }
        return new RunFolder(file);
    }

    /** The lock stays until the channel is closed, by the kernel at the latest. */
    private static boolean isHeldElsewhere(FileChannel file) {
        try {
            @Nullable FileLock lock = file.tryLock();
            return lock == null;
        } catch (IOException e) {
            return false; // a file system without locks: the job must run all the same
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
