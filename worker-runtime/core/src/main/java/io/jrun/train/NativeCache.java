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
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** The folder for unpacked native libraries, and the lock that lets one process at a time unpack. */
final class NativeCache {
    private static final long POLL_NANOS = 20_000_000;
    private static final String NATIVES = "natives";
    private static final String UID = "unix:uid";

    private final Path directory;

    private NativeCache(Path directory) {
        this.directory = directory;
    }

    /**
     * The folder for this process, see {@link #directory(Path, Map, Consumer)}. A line on stderr names an unusual
     * folder.
     */
    static Path defaultDirectory() {
        return directory(Path.of("/var/tmp"), System.getenv(), System.err::println);
    }

    /**
     * The first of these folders that belongs to this user alone. The process loads code from the folder.
     *
     * <ol>
     *   <li>{@code jrun-UID} in {@code nodeLocal}. A home folder is often shared by the nodes of a cluster: every node
     *       would wait for one file server.
     *   <li>{@code jrun} in the user's cache folder: {@code XDG_CACHE_HOME}, or {@code ~/.cache}.
     *   <li>A new folder in {@code TMPDIR}, or in java.io.tmpdir, that goes with this process.
     * </ol>
     *
     * @param nodeLocal a folder of this node that every user can write to
     * @param notices gets the reason if the first folder cannot be used
     */
    static Path directory(Path nodeLocal, Map<String, String> environment, Consumer<String> notices) {
        Path usual = nodeLocal.resolve("jrun-" + ownUid());
        String reason;
        try {
            return ownFolder(usual);
        } catch (IOException e) {
            reason = "cannot use " + usual + ": " + e.getMessage();
        }
        Optional<Path> cache = userCache(environment);
        if (cache.isPresent()) {
            try {
                Path folder = ownFolder(Files.createDirectories(cache.get()).resolve("jrun"));
                if (Files.exists(usual, LinkOption.NOFOLLOW_LINKS)) {
                    notices.accept("jrun: native libraries go to " + folder + ": " + reason);
                }
                return folder;
            } catch (IOException e) {
                reason += ", nor " + cache.get().resolve("jrun") + ": " + e.getMessage();
            }
        }
        Path fresh = freshFolder(environment);
        notices.accept("jrun: native libraries go to " + fresh + ", for this process only: " + reason);
        return fresh;
    }

    /**
     * The folder for libraries in {@code own}. {@code own} must belong to this user alone. The method creates a missing
     * folder.
     */
    private static Path ownFolder(Path own) throws IOException {
        createOwn(own);
        checkOwn(own);
        return own.resolve(NATIVES);
    }

    /** The user's folder for caches; empty without XDG_CACHE_HOME and HOME. */
    static Optional<Path> userCache(Map<String, String> environment) {
        String cache = environment.getOrDefault("XDG_CACHE_HOME", "");
        String home = environment.getOrDefault("HOME", "");
        if (Path.of(cache).isAbsolute()) { // The XDG base directory specification declares a relative path invalid.
            return Optional.of(Path.of(cache));
        }
        return Path.of(home).isAbsolute() ? Optional.of(Path.of(home, ".cache")) : Optional.empty();
    }

    private static Path freshFolder(Map<String, String> environment) {
        String chosen = environment.getOrDefault("TMPDIR", "");
        Path temporary = Path.of(chosen.isEmpty() ? System.getProperty("java.io.tmpdir", "/tmp") : chosen);
        try {
            Path fresh = Files.createTempDirectory(temporary, "jrun-natives-");
            Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(fresh), "jrun-natives"));
            return fresh.resolve(NATIVES);
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "cannot create a folder for native libraries in " + temporary + ": " + e.getMessage()
                            + ". Choose another place with -Dorg.bytedeco.javacpp.cachedir=DIR.",
                    e);
        }
    }

    /** Deletes the files that can be deleted. Loaded libraries stay loaded. */
    private static void delete(Path folder) {
        try (Stream<Path> tree = Files.walk(folder)) {
            tree.sorted(Comparator.reverseOrder()).forEach(path -> {
                boolean _ = path.toFile().delete();
            });
        } catch (IOException | UncheckedIOException _) {
            return;
        }
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

    /**
     * The marker file of this version of {@code archive}. The file exists once all libraries were unpacked and loaded.
     */
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

    /** Records that the presets' loader checked all libraries at {@code begin} or later. */
    void checked(Path marker, Instant begin) {
        try {
            Files.setLastModifiedTime(marker, FileTime.from(begin));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + marker + ": " + e.getMessage(), e);
        }
    }

    /** Runs {@code action} while no other process of this node runs one. */
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
                throw new IOException("another process has held the lock for " + deadline.toSeconds()
                        + " s. If none is unpacking libraries any more, delete the file");
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    private static void createOwn(Path own) throws IOException {
        try {
            Files.createDirectory(
                    own, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (FileAlreadyExistsException _) {
            return; // checkOwn decides whether the folder belongs to this user.
        }
    }

    private static void checkOwn(Path own) throws IOException {
        boolean isDirectory = Files.isDirectory(own, LinkOption.NOFOLLOW_LINKS);
        int owner = (Integer) Files.getAttribute(own, UID, LinkOption.NOFOLLOW_LINKS);
        Set<PosixFilePermission> mode = Files.getPosixFilePermissions(own, LinkOption.NOFOLLOW_LINKS);
        if (!isDirectory
                || owner != ownUid()
                || mode.contains(PosixFilePermission.GROUP_WRITE)
                || mode.contains(PosixFilePermission.OTHERS_WRITE)) {
            throw new IOException("the path must be a directory that only this user can write to (owner " + owner
                    + ", mode " + PosixFilePermissions.toString(mode) + (isDirectory ? "" : ", and is no directory")
                    + ")");
        }
        // In a read-only container only the folder below is writable.
        Path natives = own.resolve(NATIVES);
        if (!Files.isWritable(Files.isDirectory(natives, LinkOption.NOFOLLOW_LINKS) ? natives : own)) {
            throw new IOException("the directory is not writable");
        }
    }

    /** The uid of this process: the owner of the folder to which /proc/self points. */
    static int ownUid() {
        try {
            return (Integer) Files.getAttribute(Path.of("/proc/self"), UID);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read this process's user: " + e.getMessage(), e);
        }
    }
}
