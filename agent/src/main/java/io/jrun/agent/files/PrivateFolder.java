package io.jrun.agent.files;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;

/**
 * Makes folders for the files of one user in places where other users may write too. The names can be guessed, so
 * another user may have made a link or a folder there to read or redirect the files. Stateless.
 */
public final class PrivateFolder {
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private PrivateFolder() {}

    /**
     * Makes {@code folder} and its missing parents, for this user only. An existing folder is accepted if it belongs to
     * this user.
     *
     * @throws IOException with a message for the user if the folder is a link or belongs to another user
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

    private static void check(Path folder) throws IOException {
        PosixFileAttributes there = Files.readAttributes(folder, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        if (there.isSymbolicLink()) {
            throw new IOException("it is a symbolic link, to " + Files.readSymbolicLink(folder)
                    + ", which any user may have made; remove the link, or choose another folder");
        }
        if (!there.isDirectory()) {
            throw new IOException("it is not a folder");
        }
        UserPrincipal self = Files.getOwner(Path.of("/proc/self"));
        if (!there.owner().equals(self) && !there.owner().equals(ownerOfWhatIsMadeIn(parentOf(folder)))) {
            throw new IOException("it belongs to user " + there.owner().getName() + ", not to " + self.getName()
                    + "; remove it, or choose another folder");
        }
    }

    private static Path parentOf(Path folder) {
        Path parent = folder.getParent();
        return parent == null ? folder : parent;
    }

    /**
     * Returns the owner of the files that this user makes, with a probe file, because a file server may map all users
     * to one owner. The probe lies beside the folder, because the owner of a folder can replace a file in it. In a
     * sticky folder no other user can replace the probe.
     */
    private static UserPrincipal ownerOfWhatIsMadeIn(Path parent) throws IOException {
        Path probe = Files.createTempDirectory(parent, ".jrun-owner", OWNER_ONLY);
        try {
            return Files.getOwner(probe, LinkOption.NOFOLLOW_LINKS);
        } finally {
            Files.deleteIfExists(probe);
        }
    }
}
