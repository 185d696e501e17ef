package io.jrun.comm.file;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * The files that a user names for output. A new file replaces the file of its name, so the name must not be that of a
 * pipe or a device: {@code /dev/null} would become a file. Stateless.
 */
public final class OutputFile {
    private OutputFile() {}

    /**
     * Writes a whole file under a temporary name, and then gives the file its name: another process sees the earlier
     * file or the new one. Does not wait for the disk.
     *
     * @throws IOException as {@link #resolve}, or if the file cannot be written
     */
    public static void replace(Path named, byte[] content) throws IOException {
        replace(named, out -> out.write(content));
    }

    /** Writes what a file gets. */
    @FunctionalInterface
    public interface Content {
        /** Writes everything. The caller closes the stream. */
        void writeTo(OutputStream out) throws IOException;
    }

    /** As {@link #replace(Path, byte[])}, for content that does not fit into memory. */
    public static void replace(Path named, Content content) throws IOException {
        Path file = resolve(named);
        // No other process and no other thread has this name.
        Path partial = file.resolveSibling("." + file.getFileName() + "."
                + ProcessHandle.current().pid() + "-" + Thread.currentThread().threadId() + ".tmp");
        try {
            Files.deleteIfExists(partial); // of a process that was killed
            try (OutputStream out = Channels.newOutputStream(create(partial, file))) {
                content.writeTo(out);
            }
            Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new FileSystemException(file.toString(), null, FileError.reason(e));
        } finally {
            Files.deleteIfExists(partial);
        }
    }

    /**
     * The file to replace: the target of a link, so that the link stays.
     *
     * @return an absolute path
     * @throws IOException if there is something else than a regular file, or a link to nothing
     */
    public static Path resolve(Path named) throws IOException {
        Path file = named.toAbsolutePath();
        if (!Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            return file;
        }
        UserFile.requireRegular(file);
        return Files.isSymbolicLink(file) ? file.toRealPath() : file;
    }

    /**
     * Makes the file that will replace another. The new file has no permission that the replaced file lacks, so a
     * private file stays private.
     *
     * @param partial the name of the new file, which must not exist
     * @param replaced need not exist
     */
    public static FileChannel create(Path partial, Path replaced) throws IOException {
        Set<OpenOption> options = Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        try {
            return FileChannel.open(
                    partial, options, PosixFilePermissions.asFileAttribute(Files.getPosixFilePermissions(replaced)));
        } catch (NoSuchFileException e) {
            return FileChannel.open(partial, options); // nothing is replaced, or the folder is missing
        }
    }

    /**
     * Checks that a file can be written, before a long computation. Makes and deletes an empty file in the folder.
     *
     * @throws IOException as {@link #resolve}, or if this user cannot write to the folder of the file
     */
    public static void requireWritable(Path named) throws IOException {
        Path folder = resolve(named).getParent();
        requireWritableFolder(folder == null ? named : folder);
    }

    /**
     * Checks that a folder can be written, or that the folder above can: makes and deletes an empty file.
     *
     * @throws IOException if it is no folder, or if this user cannot write there
     */
    public static void requireWritableFolder(Path named) throws IOException {
        Path folder = named.toAbsolutePath();
        for (Path parent = folder.getParent();
                parent != null && !Files.exists(folder, LinkOption.NOFOLLOW_LINKS);
                parent = folder.getParent()) {
            folder = parent;
        }
        FileType type = FileType.of(folder);
        if (type != FileType.FOLDER) {
            throw new FileSystemException(folder.toString(), null, "it is " + type.words() + ", not a folder");
        }
        try {
            Files.delete(Files.createTempFile(folder, ".jrun-write-test", ""));
        } catch (NoSuchFileException _) {
            throw refusing(folder);
        } catch (IOException e) {
            throw new FileSystemException(folder.toString(), null, FileError.reason(e));
        }
    }

    /**
     * Makes a folder with the folders above it. No error if the folder exists.
     *
     * @throws IOException if the folder cannot be made
     */
    public static void makeFolder(Path folder) throws IOException {
        try {
            Files.createDirectories(folder);
        } catch (NoSuchFileException e) {
            throw refusing(Path.of(e.getFile()));
        }
    }

    /** The system calls a new file in a folder like /proc missing, although the folder exists. */
    private static FileSystemException refusing(Path file) {
        return new FileSystemException(file.toString(), null, "the file system takes no new files there");
    }
}
