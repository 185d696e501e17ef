package io.jrun.agent.files;

import io.jrun.comm.file.Sha256;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/**
 * A cache of files by the SHA-256 of their content. Jobs get hard links, so a job keeps its files when the cache
 * removes them. The files are read-only, because all jobs share them. The cache hashes a file again at each use.
 * Several processes may use one folder at the same time. The files used last stay.
 */
final class FileCache {
    private static final String PART = "part-";

    /** The age after which a partial file counts as left by a killed agent. */
    private static final long STALE_MILLIS = 3_600_000;

    private final Path folder;
    private final long maxBytes;

    /** The source of the content of a file. */
    interface ContentSource {
        void writeTo(OutputStream out) throws IOException, StagingException, InterruptedException;
    }

    private record CachedFile(Path file, long size, FileTime used, FileTime modified) {
        boolean isPart() {
            return file.getFileName().toString().startsWith(PART);
        }
    }

    /**
     * Opens the cache in {@code folder}, a folder of this user alone that the cache makes if it does not exist. The cache holds
     * {@code maxBytes} and the file added last.
     */
    FileCache(Path folder, long maxBytes) throws IOException {
        PrivateFolder.claim(folder);
        this.folder = folder;
        this.maxBytes = maxBytes;
    }

    /**
     * Links the file with this hash to {@code target}. Returns false if the cache lacks the file. Reads the whole file,
     * and removes a damaged file.
     */
    boolean link(byte[] sha256, boolean executable, Path target) throws IOException {
        Path file = file(sha256);
        try {
            Files.createLink(target, file);
        } catch (NoSuchFileException e) {
            return false;
        }
        if (!MessageDigest.isEqual(sha256, Sha256.of(target))) {
            Files.delete(target);
            Files.deleteIfExists(file);
            return false;
        }
        if (executable) {
            Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("r-x------"));
        }
        Files.getFileAttributeView(target, BasicFileAttributeView.class)
                .setTimes(null, FileTime.fromMillis(System.currentTimeMillis()), null);
        return true;
    }

    /**
     * Keeps {@code content} and links it to {@code target}.
     *
     * @throws IOException if the file cannot be written here
     * @throws StagingException if the content is unavailable or has another hash
     */
    void put(byte[] sha256, long size, boolean executable, Path target, ContentSource content)
            throws IOException, StagingException, InterruptedException {
        makeRoom(size);
        long free = Files.getFileStore(folder).getUsableSpace();
        if (free < size) {
            throw new IOException(size + " bytes are needed in " + folder + ", and " + free + " are free");
        }
        Path part = Files.createTempFile(
                folder, PART, "", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        try {
            MessageDigest digest = Sha256.start();
            try (OutputStream out = new DigestOutputStream(Files.newOutputStream(part), digest)) {
                content.writeTo(out);
            }
            if (!MessageDigest.isEqual(sha256, digest.digest())) {
                throw new StagingException("the file was changed during the transfer, or was damaged");
            }
            Files.setPosixFilePermissions(
                    part, PosixFilePermissions.fromString(executable ? "r-x------" : "r--------"));
            Files.createLink(target, part);
            Files.move(part, file(sha256), StandardCopyOption.ATOMIC_MOVE);
        } catch (FileAlreadyExistsException e) {
            throw new IOException(e.getMessage() + " exists already", e);
        } finally {
            Files.deleteIfExists(part);
        }
    }

    private Path file(byte[] sha256) {
        return folder.resolve(HexFormat.of().formatHex(sha256));
    }

    private void makeRoom(long size) throws IOException {
        List<CachedFile> entries = entries();
        long used = size + entries.stream().mapToLong(CachedFile::size).sum();
        for (CachedFile entry : entries) {
            boolean stale = entry.isPart() && entry.modified().toMillis() < System.currentTimeMillis() - STALE_MILLIS;
            if (stale || (used > maxBytes && !entry.isPart())) {
                Files.deleteIfExists(entry.file());
                used -= entry.size();
            }
        }
    }

    /** The files of the cache, the least recently used first. */
    private List<CachedFile> entries() throws IOException {
        List<CachedFile> entries = new ArrayList<>();
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                try {
                    BasicFileAttributes found = Files.readAttributes(file, BasicFileAttributes.class);
                    entries.add(new CachedFile(file, found.size(), found.lastAccessTime(), found.lastModifiedTime()));
                } catch (NoSuchFileException e) {
                    // another process has removed the file
                }
            }
        }
        entries.sort(Comparator.comparing(CachedFile::used));
        return entries;
    }
}
