package io.jrun.train;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/** The directory native libraries are unpacked into, and the lock that lets one process do so at a time. */
final class NativeCache {
    private static final long POLL_NANOS = 20_000_000;

    private final Path directory;

    private NativeCache(Path directory) {
        this.directory = directory;
    }

    /**
     * {@code /var/tmp/jrun-UID/natives}, or the same under java.io.tmpdir where /var/tmp is not writable. Node-local on
     * purpose: a home directory is often shared by the nodes of a cluster, and then every node would wait for one file
     * server. Code is loaded from there, so it must belong to this user alone.
     */
    static Path defaultDirectory() {
        Path varTmp = Path.of("/var/tmp");
        Path base = Files.isWritable(varTmp) ? varTmp : Path.of(System.getProperty("java.io.tmpdir", "/tmp"));
        Path own = base.resolve("jrun-" + uid(Path.of("/proc/self")));
        try {
            if (!Files.exists(own, LinkOption.NOFOLLOW_LINKS)) {
                createOwn(own);
            }
            checkOwn(own);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot use " + own + " for native libraries: " + e.getMessage(), e);
        }
        return own.resolve("natives");
    }

    static NativeCache open(Path directory) {
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "cannot create " + directory + " for native libraries: " + e.getMessage()
                            + ". Choose another place with -Dorg.bytedeco.javacpp.cachedir=DIR.",
                    e);
        }
        return new NativeCache(directory);
    }

    Path directory() {
        return directory;
    }

    /** The file whose presence says that everything in {@code archive}, as it is now, has been unpacked and loaded once. */
    Path marker(Path archive) {
        try {
            String identity = archive.getFileName() + "-" + Files.size(archive) + "-"
                    + Files.getLastModifiedTime(archive).toMillis();
            return directory.resolve(".jrun-unpacked-" + identity);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + archive + ": " + e.getMessage(), e);
        }
    }

    void write(Path marker) {
        try {
            Files.writeString(marker, "");
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + marker + ": " + e.getMessage(), e);
        }
    }

    /** Notes that the presets' loader has found everything as it should be, or made it so, since {@code begin}. */
    void checked(Path marker, Instant begin) {
        try {
            Files.setLastModifiedTime(marker, FileTime.from(begin));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + marker + ": " + e.getMessage(), e);
        }
    }

    /** Runs {@code action} while no other process of this node does. */
    void locked(Duration deadline, Runnable action) {
        Path file = directory.resolve(".jrun-lock");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock _ = acquire(channel, deadline)) {
            action.run();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot lock " + file + ": " + e.getMessage(), e);
        }
    }

    private static FileLock acquire(FileChannel channel, Duration deadline) throws IOException {
        long end = System.nanoTime() + deadline.toNanos();
        while (true) {
            FileLock lock = channel.tryLock();
            if (lock != null) {
                return lock;
            }
            if (System.nanoTime() - end > 0) {
                throw new IOException("another process has held it for " + deadline.toSeconds()
                        + " s. If none is unpacking libraries any more, delete the file");
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    private static void createOwn(Path own) throws IOException {
        Set<PosixFilePermission> mode = PosixFilePermissions.fromString("rwx------");
        try {
            Files.createDirectory(own, PosixFilePermissions.asFileAttribute(mode));
        } catch (FileAlreadyExistsException _) {
            // A neighbour was faster; checkOwn decides whether it was one of ours.
        }
    }

    private static void checkOwn(Path own) throws IOException {
        boolean isDirectory = Files.isDirectory(own, LinkOption.NOFOLLOW_LINKS);
        int owner = uid(own);
        Set<PosixFilePermission> mode = Files.getPosixFilePermissions(own, LinkOption.NOFOLLOW_LINKS);
        if (!isDirectory
                || owner != uid(Path.of("/proc/self"))
                || mode.contains(PosixFilePermission.GROUP_WRITE)
                || mode.contains(PosixFilePermission.OTHERS_WRITE)) {
            throw new IOException("it must be a directory that only this user can write to (it has owner " + owner
                    + ", mode " + PosixFilePermissions.toString(mode) + "). Remove it, or choose another place with"
                    + " -Dorg.bytedeco.javacpp.cachedir=DIR");
        }
    }

    private static int uid(Path path) {
        // /proc/self is a link; what it points at carries the uid of this process.
        LinkOption[] options =
                path.startsWith("/proc") ? new LinkOption[0] : new LinkOption[] {LinkOption.NOFOLLOW_LINKS};
        try {
            return (Integer) Files.getAttribute(path, "unix:uid", options);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the owner of " + path + ": " + e.getMessage(), e);
        }
    }
}
