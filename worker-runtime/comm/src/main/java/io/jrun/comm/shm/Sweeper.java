package io.jrun.comm.shm;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Removes segments whose ranks were killed before they could: those of this user that nobody holds a lock of. */
final class Sweeper {
    private Sweeper() {}

    /** Sweeps files whose names begin with {@code prefix}. */
    static void sweep(String prefix) {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(Segment.DIRECTORY, prefix + "*")) {
            for (Path file : files) {
                sweep(file);
            }
        } catch (IOException e) {
            throw new CommException(
                    ErrorCode.SYSTEM, "cannot look through " + Segment.DIRECTORY + ": " + e.getMessage(), e);
        }
    }

    private static void sweep(Path path) throws IOException {
        int file = SystemCalls.open(path.toString());
        if (file < 0) {
            return; // Removed by its owner meanwhile.
        }
        try {
            if (SystemCalls.lock(file) == 0) {
                Files.deleteIfExists(path);
            }
        } finally {
            SystemCalls.close(file);
        }
    }
}
