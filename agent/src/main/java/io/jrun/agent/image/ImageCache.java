package io.jrun.agent.image;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.files.PrivateFolder;
import io.jrun.agent.node.UserId;
import io.jrun.comm.file.Sha256;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The prepared images of one user on this node, in a folder of this user alone: {@code sha256-HEX} for each image,
 * {@code names} for the names by which images were requested, {@code locks} and {@code work} for the processes that
 * prepare images. One rename makes an entry appear when the entry is complete. Thread-safe, also between processes.
 */
public final class ImageCache {
    /** The variable with the folder. */
    public static final String VARIABLE = "JRUN_IMAGE_CACHE";

    static final String PREFIX = "sha256-";
    private static final String REMOVED = "-removed-";
    private static final String DIGEST_PREFIX = "sha256:";

    private final Path folder;

    private ImageCache(Path folder) {
        this.folder = folder;
    }

    /**
     * The cache of this user.
     *
     * @param environment variables of the process; {@value #VARIABLE} may name the folder, the default is a folder in
     *     /var/tmp on the node's own disk
     * @throws ContainerException if the folder cannot be made, or belongs to another user
     */
    public static ImageCache open(Map<String, String> environment) throws ContainerException {
        Path folder = Path.of(environment.getOrDefault(VARIABLE, ""));
        try {
            if (folder.toString().isEmpty()) {
                Path own = PrivateFolder.ofUser(UserId.ofThisProcess());
                PrivateFolder.claim(own);
                folder = own.resolve("images");
            }
            if (!folder.isAbsolute()) {
                throw new ContainerException(
                        VARIABLE + "=" + folder + ": the path of the image cache must begin with /");
            }
            for (Path each :
                    List.of(folder, folder.resolve("names"), folder.resolve("locks"), folder.resolve("work"))) {
                PrivateFolder.claim(each);
            }
            return new ImageCache(folder);
        } catch (IOException e) {
            throw new ContainerException(
                    "the image cache " + folder + " cannot be used: " + ContainerException.words(e)
                            + "; name another folder with " + VARIABLE,
                    e);
        }
    }

    /** The folder of the cache. */
    public Path folder() {
        return folder;
    }

    /** The folder of an image's entry. The folder need not exist. */
    public Path entry(String digest) {
        return folder.resolve(PREFIX + hex(digest));
    }

    /** The work folder of the process that prepares an image. */
    public Path work(String digest) {
        return folder.resolve("work").resolve(hex(digest));
    }

    /** The lock file of the process that prepares an image. */
    public Path lock(String digest) {
        return folder.resolve("locks").resolve(hex(digest));
    }

    private static String hex(String digest) {
        if (!digest.matches("sha256:[0-9a-f]{64}")) {
            throw new IllegalArgumentException("no digest: " + digest);
        }
        return digest.substring(DIGEST_PREFIX.length());
    }

    /** The image with a digest; empty if the cache lacks the image. */
    public Optional<CachedImage> find(String digest) throws IOException {
        return CachedImage.read(entry(digest), List.of());
    }

    /** The image that was last prepared under a name; empty if the cache lacks the image. */
    public Optional<CachedImage> named(String name) throws IOException {
        Path file = folder.resolve("names").resolve(fileName(name));
        try {
            return find(Files.readString(file).lines().findFirst().orElse("none"));
        } catch (NoSuchFileException | IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /** Records the time and the name of a request for an image. */
    public void use(CachedImage image, String name) throws IOException {
        Path names = folder.resolve("names");
        Path file = Files.createTempFile(names, ".new", "");
        Files.writeString(file, image.digest() + "\n" + name + "\n");
        Files.move(file, names.resolve(fileName(name)), StandardCopyOption.ATOMIC_MOVE);
        Files.setLastModifiedTime(image.folder(), FileTime.from(Instant.now()));
    }

    private static String fileName(String name) {
        return HexFormat.of().formatHex(Sha256.start().digest(name.getBytes(StandardCharsets.UTF_8)));
    }

    /** All images, the last used first. */
    public List<CachedImage> list() throws IOException {
        List<List<String>> names = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder.resolve("names"), "[!.]*")) {
            for (Path file : files) {
                names.add(Files.readAllLines(file));
            }
        }
        List<CachedImage> images = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder, PREFIX + "*")) {
            for (Path entry : entries) {
                String digest = DIGEST_PREFIX + entry.getFileName().toString().substring(PREFIX.length());
                List<String> own = names.stream()
                        .filter(lines -> lines.size() > 1 && lines.getFirst().equals(digest))
                        .map(lines -> lines.get(1))
                        .sorted()
                        .toList();
                CachedImage.read(entry, own).ifPresent(images::add);
            }
        }
        images.sort(Comparator.comparing(CachedImage::used).reversed());
        return images;
    }

    /** Whether a process on this node has the image mounted. */
    public boolean isMounted(CachedImage image) throws IOException {
        return isMounted(image.folder());
    }

    private static boolean isMounted(Path entry) throws IOException {
        String part = "/" + entry.getFileName() + "/";
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : processes) {
                if (mentions(process.resolve("mountinfo"), part)) {
                    return true;
                }
            }
        }
        return false;
    }

    /**
     * Whether a process has mounted a part of the cache. A process that has ended, or whose mounts this user may not
     * read, counts as a process without such mounts.
     */
    private static boolean mentions(Path mounts, String part) {
        try {
            return Files.readString(mounts, StandardCharsets.ISO_8859_1).contains(part);
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Removes an image, unless a process has it mounted. A process that has looked the image up and not yet mounted it
     * prepares the image again.
     *
     * @return whether the image is removed
     */
    public boolean remove(CachedImage image) throws IOException {
        Path doomed = folder.resolve("work")
                .resolve(image.folder().getFileName()
                        + REMOVED
                        + ProcessHandle.current().pid());
        Files.move(image.folder(), doomed, StandardCopyOption.ATOMIC_MOVE);
        if (isMounted(doomed)) { // nothing can mount it from now on
            Files.move(doomed, image.folder(), StandardCopyOption.ATOMIC_MOVE);
            return false;
        }
        FolderDeletion.delete(doomed);
        for (String name : image.names()) {
            Files.deleteIfExists(folder.resolve("names").resolve(fileName(name)));
        }
        return true;
    }

    /**
     * Deletes images whose removal was interrupted, and the layers and files of pulls that were killed.
     *
     * @return the deleted bytes
     */
    public long sweep() throws IOException {
        long bytes = 0;
        try (DirectoryStream<Path> parts = Files.newDirectoryStream(folder.resolve("work"))) {
            for (Path part : parts) {
                bytes += part.getFileName().toString().contains(REMOVED) ? sweepRemoved(part) : sweepPull(part);
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return bytes;
    }

    private static long sweepRemoved(Path part) throws IOException {
        return isMounted(part) ? 0 : deleted(part);
    }

    /** A process that pulls an image holds the lock of the image. */
    private long sweepPull(Path part) throws IOException {
        Path lock = folder.resolve("locks").resolve(part.getFileName());
        try (FileChannel channel = FileChannel.open(
                        lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
                FileLock held = channel.tryLock()) {
            return held == null ? 0 : deleted(part);
        } catch (OverlappingFileLockException e) {
            return 0; // This process pulls the image.
        }
    }

    private static long deleted(Path part) throws IOException {
        long bytes;
        try (Stream<Path> files = Files.walk(part)) {
            bytes = files.mapToLong(ImageCache::sizeOf).sum();
        } catch (UncheckedIOException e) {
            bytes = 0; // Another process deletes the files, too.
        }
        FolderDeletion.delete(part);
        return bytes;
    }

    private static long sizeOf(Path file) {
        try {
            BasicFileAttributes found =
                    Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            return found.isRegularFile() ? found.size() : 0;
        } catch (IOException e) {
            return 0;
        }
    }
}
