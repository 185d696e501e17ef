package io.jrun.train.storage;

import io.jrun.comm.file.OutputFile;
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
        try (PreparedFile file = prepare(target, content)) {
            file.publish();
            syncFolder(folderOf(file.target));
        }
    }

    /**
     * Writes the content of a file under a temporary name, durably. A link stays, and its target is replaced.
     *
     * @throws IOException also if {@code target} is a folder, a pipe or a device
     */
    public static PreparedFile prepare(Path target, Content content) throws IOException {
        Path replaced = OutputFile.resolve(target);
        OutputFile.makeFolder(folderOf(replaced));
        PreparedFile file = new PreparedFile(temporary(replaced), replaced);
        try (FileChannel channel = OutputFile.create(file.temporary, replaced)) {
            content.writeTo(channel);
            channel.force(true);
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
        return file;
    }

    /** A whole file with a temporary name. */
    public static final class PreparedFile implements AutoCloseable {
        private final Path temporary;
        private final Path target;

        private PreparedFile(Path temporary, Path target) {
            this.temporary = temporary;
            this.target = target;
        }

        /** Gives the file its name, and replaces an earlier file. {@link #syncFolder} makes the name durable. */
        public void publish() throws IOException {
            Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        }

        /** Deletes a file that has no name yet. */
        @Override
        public void close() throws IOException {
            Files.deleteIfExists(temporary);
        }
    }

    private static Path folderOf(Path target) throws IOException {
        Path folder = target.toAbsolutePath().getParent();
        if (folder == null) {
            throw new IOException(target + " is not a file name");
        }
        return folder;
    }

    /**
     * A unique name in the folder of {@code target}. The name is random: processes of several hosts or containers may
     * share the folder and have the same process id.
     */
    static Path temporary(Path target) {
        return target.resolveSibling("." + target.getFileName() + "." + UUID.randomUUID() + TEMPORARY);
    }

    /** Makes names in a folder durable. */
    public static void syncFolder(Path folder) throws IOException {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
