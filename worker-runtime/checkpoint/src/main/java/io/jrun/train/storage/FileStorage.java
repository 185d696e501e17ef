package io.jrun.train.storage;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.FileType;
import io.jrun.comm.file.OutputFile;
import io.jrun.comm.file.UserFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileSystemException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Objects as files below a folder. Every file is fsynced, and so is its folder. A commit is a temporary file, fsync,
 * rename, fsync of the folder. The folder may lie on a file system that several hosts share. The check of the earlier
 * version is no lock: if two writers commit at the same moment, the last one wins.
 */
public final class FileStorage implements Storage {
    /** Objects of {@link #commit} are small: an index of a checkpoint of 100,000 tensors has about 30 MB. */
    private static final int MAX_COMMIT_BYTES = 1 << 30;

    private final Path base;

    private FileStorage(Path base) {
        this.base = base;
    }

    /** The objects below {@code folder}, which need not exist yet. */
    public static FileStorage at(Path folder) {
        return new FileStorage(folder.toAbsolutePath().normalize());
    }

    @Override
    public List<String> list(String prefix) throws IOException {
        Path folder = prefix.isEmpty() ? base : base.resolve(prefix);
        if (!Files.isDirectory(folder)) {
            requireMissing(folder);
            return List.of();
        }
        Path real = base.toRealPath(); // the location may be a link
        List<String> names = new ArrayList<>();
        Files.walkFileTree(prefix.isEmpty() ? real : real.resolve(prefix), new SimpleFileVisitor<>() {
            // Also links, pipes and devices: a checkpoint that cannot be read must not look like no checkpoint.
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                names.add(real.relativize(file).toString());
                return FileVisitResult.CONTINUE;
            }

            // An empty folder in the place of an object. A folder below the location may be empty for a moment.
            @Override
            public FileVisitResult postVisitDirectory(Path visited, @Nullable IOException e) throws IOException {
                if (e != null && !(e instanceof NoSuchFileException)) {
                    throw e;
                }
                String name = real.relativize(visited).toString();
                if (name.contains("/") && names.stream().noneMatch(each -> each.startsWith(name + "/"))) {
                    names.add(name);
                }
                return FileVisitResult.CONTINUE;
            }

            // Another rank may rename or delete a file while this rank lists.
            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
                if (e instanceof NoSuchFileException) {
                    return FileVisitResult.CONTINUE;
                }
                throw e;
            }
        });
        return names.stream().sorted().toList();
    }

    /** A location whose folder cannot be a folder fails when it is read first, not when it is written first. */
    private static void requireMissing(Path folder) throws IOException {
        for (Path place = folder; place != null; place = place.getParent()) {
            if (Files.isDirectory(place)) {
                return;
            }
            try {
                throw new StorageException(
                        place + " is " + FileType.of(place).words() + ". Name a folder for the checkpoints.", null);
            } catch (NoSuchFileException _) {
                // the folder above decides
            } catch (FileSystemException e) {
                boolean isBelowFile = place.getParent() != null && !Files.isDirectory(place.getParent());
                if (!isBelowFile || e instanceof AccessDeniedException) {
                    throw new StorageException(
                            "cannot read " + place + ": " + FileError.reason(e, place)
                                    + ". Name a folder for the checkpoints.",
                            e);
                }
            }
        }
    }

    @Override
    public ObjectWriter create(String name) throws IOException {
        Path file = base.resolve(name);
        createFolder(folderOf(file));
        return new FileObjectWriter(
                file, FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE));
    }

    @Override
    public ObjectReader open(String name) throws IOException {
        return FileObjectReader.open(base.resolve(name));
    }

    @Override
    public Optional<String> version(String name) throws IOException {
        try {
            CRC32C checksum = new CRC32C();
            checksum.update(UserFile.bytes(base.resolve(name), MAX_COMMIT_BYTES));
            return Optional.of(Long.toHexString(checksum.getValue()));
        } catch (NoSuchFileException _) {
            return Optional.empty();
        }
    }

    @Override
    public void commit(String name, byte[] content, Optional<String> replaced) throws IOException {
        Path target = base.resolve(name);
        createFolder(folderOf(target));
        if (!version(name).equals(replaced)) {
            throw new CommitConflictException(
                    "another job has written " + target + " at the same time. Give each job a folder of its own.");
        }
        AtomicFile.write(target, channel -> {
            ByteBuffer bytes = ByteBuffer.wrap(content);
            while (bytes.hasRemaining()) {
                int _ = channel.write(bytes);
            }
        });
    }

    @Override
    public void delete(String name) throws IOException {
        Path file = base.resolve(name);
        Files.deleteIfExists(file);
        Path folder = folderOf(file);
        if (!folder.equals(base)) {
            try {
                Files.deleteIfExists(folder);
            } catch (DirectoryNotEmptyException _) {
                return; // other objects are left in the folder
            }
        }
    }

    @Override
    public String toString() {
        return base.toString();
    }

    @Override
    public void close() {}

    private static Path folderOf(Path file) throws IOException {
        Path folder = file.getParent();
        if (folder == null) {
            throw new IOException(file + " is not a file name");
        }
        return folder;
    }

    /** Makes a folder and makes its name durable. */
    private static void createFolder(Path folder) throws IOException {
        if (Files.isDirectory(folder)) {
            return;
        }
        Path parent = folder.getParent();
        if (parent != null) {
            createFolder(parent);
        }
        OutputFile.makeFolder(folder);
        if (parent != null) {
            AtomicFile.syncFolder(parent);
        }
    }

    private static final class FileObjectWriter implements ObjectWriter {
        private final Path file;
        private final FileChannel channel;
        private final EarlyFlush flush;
        private boolean isFinished;

        FileObjectWriter(Path file, FileChannel channel) {
            this.file = file;
            this.channel = channel;
            this.flush = new EarlyFlush(channel);
        }

        @Override
        public void write(ByteBuffer bytes) throws IOException {
            int count = bytes.remaining();
            while (bytes.hasRemaining()) {
                int _ = channel.write(bytes);
            }
            flush.written(count);
        }

        @Override
        public void finish() throws IOException {
            flush.end();
            channel.force(true);
            AtomicFile.syncFolder(folderOf(file));
            isFinished = true;
        }

        @Override
        public void close() throws IOException {
            try {
                flush.end();
            } finally {
                channel.close();
                if (!isFinished) {
                    Files.deleteIfExists(file);
                }
            }
        }
    }
}
