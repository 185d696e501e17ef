package io.jrun.comm.shm;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;

/**
 * Removes segments of killed ranks: regular files of this user without a lock. Every user can write to /dev/shm, so the
 * sweeper ignores any other file of that name. A sweep never fails a job: a file that cannot be removed stays for the
 * next sweep.
 */
final class SegmentSweeper {
    private SegmentSweeper() {}

    /** Removes files of {@code user} whose names begin with {@code prefix}. */
    static void sweep(String prefix, int user) {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(Segment.DIRECTORY, prefix + "*")) {
            for (Path file : files) {
                sweep(file, user);
            }
        } catch (IOException | DirectoryIteratorException _) {
            return; // If the folder is missing, the error of the first segment says so.
        }
    }

    private static void sweep(Path path, int user) {
        int file = SystemCalls.open(path.toString());
        if (file < 0) {
            return; // The owner has removed the file meanwhile, or the file belongs to another user.
        }
        try {
            if (isRegularFileOf(user, file) && SystemCalls.lock(file) == 0) {
                Files.deleteIfExists(path);
            }
        } catch (IOException _) {
            return;
        } finally {
            SystemCalls.close(file);
        }
    }

    /** Checks the open file, because the path may lead to another file by now. */
    private static boolean isRegularFileOf(int user, int file) throws IOException {
        Path opened = Path.of("/proc/self/fd/" + file);
        return Objects.equals(Files.getAttribute(opened, "unix:uid"), user) && Files.isRegularFile(opened);
    }
}
