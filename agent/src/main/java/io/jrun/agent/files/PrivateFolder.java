package io.jrun.agent.files;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Map;
import java.util.Optional;

/**
 * Makes folders for the files of one user in places where other users may write too. The names can be guessed, so
 * another user may have made a link or a folder there to read or redirect the files. Stateless.
 */
public final class PrivateFolder {
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private PrivateFolder() {}

    /**
     * The folder of a user on the node's own disk, for caches and containers. The path is the same in each process of
     * the user. {@link #claim} makes the folder.
     */
    public static Path ofUser(int uid) {
        return Path.of("/var/tmp/jrun-" + uid);
    }

    /**
     * The folder of jrun in the cache of the user: {@code jrun} in XDG_CACHE_HOME, or in {@code .cache} of HOME. Empty
     * without both variables.
     */
    public static Optional<Path> inCache(Map<String, String> environment) {
        String cache = environment.getOrDefault("XDG_CACHE_HOME", "");
        String home = environment.getOrDefault("HOME", "");
        return cache.isEmpty() && home.isEmpty()
                ? Optional.empty()
                : Optional.of((cache.isEmpty() ? Path.of(home, ".cache") : Path.of(cache))
                        .resolve("jrun")
                        .toAbsolutePath());
    }

    /** The folder of {@link #inCache}; without both variables a folder for temporary files. */
    public static Path inCacheOrTemporary(Map<String, String> environment) {
        return inCache(environment)
                .orElseGet(() -> Path.of(System.getProperty("java.io.tmpdir"), ".cache", "jrun")
                        .toAbsolutePath());
    }

    /**
     * Makes {@code folder} and its missing parents, for this user only. An existing folder is accepted if it belongs to
     * this user and no other user can write to it.
     *
     * @throws IOException with a message for the user if the folder is a link, belongs to another user, or is writable
     *     for others
     */
    public static void claim(Path folder) throws IOException {
        Path absolute = folder.toAbsolutePath();
        Path parent = absolute.getParent();
        if (parent != null) {
            Files.createDirectories(parent, OWNER_ONLY);
        }
        try {
            Files.createDirectory(absolute, OWNER_ONLY);
        } catch (FileAlreadyExistsException e) {
            check(absolute);
        }
    }

    /**
     * Whether a folder exists. Call the method before a file of the folder is read.
     *
     * @throws IOException as {@link #claim}
     */
    public static boolean exists(Path folder) throws IOException {
        if (!Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        check(folder.toAbsolutePath());
        return true;
    }

    private static void check(Path folder) throws IOException {
        PosixFileAttributes there = attributes(folder);
        if (there.isSymbolicLink()) {
            throw new IOException(folder + " is a symbolic link, to " + Files.readSymbolicLink(folder)
                    + ", which any user may have made; remove the link, or choose another folder");
        }
        if (!there.isDirectory()) {
            throw new IOException(folder + " is not a folder");
        }
        UserPrincipal self = Files.getOwner(Path.of("/proc/self"));
        boolean isOwn = there.owner().equals(self);
        if (isOwn && !isWritableForOthers(there)) {
            return;
        }
        PosixFileAttributes made = attributesOfWhatIsMadeIn(parentOf(folder));
        if (!isOwn && !there.owner().equals(made.owner())) {
            throw new IOException(folder + " belongs to user " + there.owner().getName() + ", not to " + self.getName()
                    + "; ask an administrator to remove the folder, or choose another folder");
        }
        if (isWritableForOthers(there) && !isWritableForOthers(made)) {
            throw new IOException(folder + " is writable for other users (mode "
                    + PosixFilePermissions.toString(there.permissions())
                    + "), who may have put files there; remove the folder, or run 'chmod go-w " + folder
                    + "' if all files in the folder are yours");
        }
    }

    private static boolean isWritableForOthers(PosixFileAttributes file) {
        return file.permissions().contains(PosixFilePermission.GROUP_WRITE)
                || file.permissions().contains(PosixFilePermission.OTHERS_WRITE);
    }

    private static PosixFileAttributes attributes(Path file) throws IOException {
        return Files.readAttributes(file, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    }

    private static Path parentOf(Path folder) {
        Path parent = folder.getParent();
        return parent == null ? folder : parent;
    }

    /**
     * Returns the owner and mode of the files that this user makes, with a probe file, because a file server may map
     * all users to one owner, and all modes to one mode. The probe lies beside the folder, because the owner of a
     * folder can replace a file in it. In a sticky folder no other user can replace the probe.
     */
    private static PosixFileAttributes attributesOfWhatIsMadeIn(Path parent) throws IOException {
        Path probe = Files.createTempDirectory(parent, ".jrun-owner", OWNER_ONLY);
        try {
            return attributes(probe);
        } finally {
            Files.deleteIfExists(probe);
        }
    }
}
