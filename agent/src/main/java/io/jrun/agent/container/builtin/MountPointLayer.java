package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * A layer between the image and the workers' own layers. The layer holds mount points that the image lacks, and files
 * of the node. The layer hides the image's files and links at these paths, so that a mount never follows a link of the
 * image.
 */
final class MountPointLayer {
    private static final int DEFAULT_MODE = 0755;
    private static final int MODE_BITS = 07777;
    private static final Integer ROOT = 0;

    private final Path folder;

    /**
     * @param folder an empty folder on a file system of this job alone
     */
    MountPointLayer(Path folder) {
        this.folder = folder;
    }

    Path folder() {
        return folder;
    }

    /** Makes a mount point, unless the image has a mount point of the kind. */
    void make(Path image, String inside, boolean directory) throws ContainerException {
        Path below = image.resolve(inside.substring(1));
        if (Files.exists(below, LinkOption.NOFOLLOW_LINKS) && !Files.isSymbolicLink(below)) {
            if (Files.isDirectory(below, LinkOption.NOFOLLOW_LINKS) != directory) {
                throw mismatch(inside, directory);
            }
            return;
        }
        try {
            Path parent = parents(image, inside);
            Path made = parent.resolve(inside.substring(inside.lastIndexOf('/') + 1));
            if (directory) {
                makeFolder(made, DEFAULT_MODE);
            } else if (!Files.exists(made, LinkOption.NOFOLLOW_LINKS)) {
                Files.createFile(made);
            }
        } catch (IOException e) {
            throw new ContainerException(
                    "the mount point " + inside + " cannot be made: " + ContainerException.words(e), e);
        }
    }

    /** Writes a file that workers see instead of the image's file. */
    void write(Path image, String inside, String text) throws IOException, ContainerException {
        Path parent = parents(image, inside);
        Path file = parent.resolve(inside.substring(inside.lastIndexOf('/') + 1));
        byte[] content = text.getBytes(StandardCharsets.UTF_8);
        if (Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                && Files.size(file) == content.length
                && Arrays.equals(Files.readAllBytes(file), content)) {
            return; // In a root with a name, workers of another job may read the file.
        }
        Files.deleteIfExists(file); // In a root with a name, a link could lead to a file of the node.
        Files.write(file, content);
    }

    /**
     * Makes the parent folders with the modes and owners of the image's folders. In an overlay the modes of the upper
     * layer count.
     */
    private Path parents(Path image, String inside) throws IOException, ContainerException {
        Path made = folder;
        Path below = image;
        String[] names = inside.substring(1).split("/", -1);
        for (int i = 0; i < names.length - 1; i++) {
            made = made.resolve(names[i]);
            below = below.resolve(names[i]);
            if (Files.isDirectory(below, LinkOption.NOFOLLOW_LINKS)) {
                makeFolder(made, (int) Files.getAttribute(below, "unix:mode") & MODE_BITS);
                copyOwner(below, made);
            } else if (Files.exists(below, LinkOption.NOFOLLOW_LINKS)) {
                throw new ContainerException("nothing can be mounted at " + inside + " inside the container: "
                        + "a folder above it is a file in the image; choose another path");
            } else {
                makeFolder(made, DEFAULT_MODE);
            }
        }
        return made;
    }

    private static void makeFolder(Path made, int mode) throws IOException {
        try {
            Files.createDirectory(made);
            Files.setAttribute(made, "unix:mode", mode);
        } catch (FileAlreadyExistsException e) {
            // The folder is also the parent of another mount point.
        }
    }

    /** Copies the owner. Only root can change owners. For an ordinary user all files of an image belong to the user. */
    private static void copyOwner(Path below, Path made) throws IOException {
        Object owner = Files.getAttribute(below, "unix:uid");
        if (Files.getAttribute(made, "unix:uid").equals(ROOT) && !owner.equals(ROOT)) {
            Files.setAttribute(made, "unix:gid", Files.getAttribute(below, "unix:gid"));
            Files.setAttribute(made, "unix:uid", owner);
        }
    }

    static ContainerException mismatch(String inside, boolean directory) {
        return new ContainerException("a " + (directory ? "folder" : "file") + " cannot be mounted at " + inside
                + " inside the container: there is a " + (directory ? "file" : "folder")
                + " in the image; choose another path");
    }
}
