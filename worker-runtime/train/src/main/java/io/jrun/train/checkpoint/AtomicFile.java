package io.jrun.train.checkpoint;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.UUID;

/** Writing that a crash at any moment leaves either undone or done: temporary file, fsync, rename, fsync of the folder. */
final class AtomicFile {
    /** Ends the name of what is not written yet. */
    static final String TEMPORARY = ".tmp";

    private AtomicFile() {}

    interface Content {
        void writeTo(FileChannel channel) throws IOException;
    }

    static void write(Path target, Content content) throws IOException {
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
     * A name beside {@code target} that nobody else has. It is random: processes of several hosts or containers may share the
     * folder and have the same process id.
     */
    static Path temporary(Path target) {
        return target.resolveSibling("." + target.getFileName() + "." + UUID.randomUUID() + TEMPORARY);
    }

    /** Makes renames in a folder durable. */
    static void syncFolder(Path folder) throws IOException {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
