package io.jrun.train.storage;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.UUID;

/**
 * Writes a file so that a crash at any moment leaves the earlier or the new content: temporary file, fsync, rename,
 * fsync of the folder.
 */
public final class AtomicFile {
    /** The end of the name of a file that is not complete yet. */
    private static final String TEMPORARY = ".tmp";

    private AtomicFile() {}

    /** Writes the content of a file. */
    @FunctionalInterface
    public interface Content {
        /** Writes all bytes. */
        void writeTo(FileChannel channel) throws IOException;
    }

    /**
     * Writes a file. After a crash the file has the earlier content, or does not exist, or has all of the new content.
     */
    public static void write(Path target, Content content) throws IOException {
        Path folder = target.toAbsolutePath().getParent();
        if (folder == null) {
            throw new IOException(target + " is not a file name");
        }
        Files.createDirectories(folder);
        Path temporary = temporary(target);
        try {
            try (FileChannel channel =
                    FileChannel.open(temporary, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                content.writeTo(channel);
                channel.force(true);
            }
            Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(temporary);
        }
        syncFolder(folder);
    }

    /**
     * A unique name in the folder of {@code target}. The name is random: processes of several hosts or containers may
     * share the folder and have the same process id.
     */
    static Path temporary(Path target) {
        return target.resolveSibling("." + target.getFileName() + "." + UUID.randomUUID() + TEMPORARY);
    }

    /** Makes names in a folder durable. */
    static void syncFolder(Path folder) throws IOException {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
