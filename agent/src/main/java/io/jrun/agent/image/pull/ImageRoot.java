package io.jrun.agent.image.pull;

import io.jrun.agent.image.FolderDeletion;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;

/**
 * A root file system during its making. The class follows links component by component inside the root only, like a
 * process with this root: the class never makes, changes or deletes a file outside. The folder belongs to this user,
 * and no other process writes to the folder. Confined to one thread.
 */
final class ImageRoot {
    /** As the kernel's limit of links in one path. */
    private static final int MAX_LINKS = 40;

    private static final int PERMISSIONS = 0777;

    private final Path root;

    /** A path of a layer leads out of the image, or through a file that is not a folder. */
    static final class PathException extends IOException {
        private static final long serialVersionUID = 1L;

        PathException(String message) {
            super(message);
        }
    }

    /** @param root an existing folder */
    ImageRoot(Path root) throws IOException {
        this.root = root.toRealPath();
    }

    /** The root itself. */
    Path root() {
        return root;
    }

    /**
     * The path of a layer's entry: the folder without links, and the name. The method does not follow a link at the
     * end.
     *
     * @param make whether missing folders are made
     * @return the path; the root itself for the root. If {@code make} is false, the folder of the path may be missing
     * @throws PathException if the name has a component {@code ..}, or leads through a file
     */
    Path locate(String name, boolean make) throws IOException {
        Deque<String> names = new ArrayDeque<>();
        push(names, name);
        if (names.contains("..")) {
            throw new PathException("a layer has the path '" + name + "', and the path leads out of the image");
        }
        if (names.isEmpty()) {
            return root;
        }
        String last = names.removeLast();
        return folder(names, name, make).resolve(last);
    }

    /** The folder of a path of the image, after all links. The method makes missing folders. */
    Path folder(String name) throws IOException {
        Deque<String> names = new ArrayDeque<>();
        push(names, name);
        return folder(names, name, true);
    }

    private Path folder(Deque<String> names, String name, boolean make) throws IOException {
        Path current = root;
        int links = 0;
        while (!names.isEmpty()) {
            String next = names.pop();
            if (next.equals("..")) { // The component is from a link.
                current = parent(current);
                continue;
            }
            Path path = current.resolve(next);
            if (Files.isSymbolicLink(path)) {
                if (++links > MAX_LINKS) {
                    throw new PathException("a layer has the path '" + name + "', and the path leads through more than "
                            + MAX_LINKS + " links");
                }
                String target = Files.readSymbolicLink(path).toString();
                current = target.startsWith("/") ? root : current;
                push(names, target);
                continue;
            }
            if (!Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
                if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
                    throw new PathException("a layer has the path '" + name
                            + "', and a part of the path is a file instead of a folder");
                }
                if (make) {
                    Files.createDirectory(path);
                    setMode(path, 0755, true);
                }
            }
            current = path;
        }
        return current;
    }

    private Path parent(Path folder) {
        Path above = folder.getParent();
        return folder.equals(root) || above == null ? root : above;
    }

    private static void push(Deque<String> names, String path) {
        String[] parts = path.split("/", -1);
        for (int i = parts.length - 1; i >= 0; i--) {
            if (!parts[i].isEmpty() && !parts[i].equals(".")) {
                names.push(parts[i]);
            }
        }
    }

    /** Makes a folder, or keeps an existing folder. The folder replaces any other file. */
    static void makeFolder(Path path, int mode) throws IOException {
        if (!Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
            Files.deleteIfExists(path);
            Files.createDirectory(path);
        }
        setMode(path, mode, true);
    }

    /** Deletes the file, link or folder at a path before a new file or link is made. */
    static void clear(Path path) throws IOException {
        FolderDeletion.delete(path);
    }

    /** Writes a small file of jrun. The method follows links inside the image. */
    void write(String name, byte[] content, int mode) throws IOException {
        Path path = locate(name, true);
        clear(path);
        Files.write(path, content, java.nio.file.StandardOpenOption.CREATE_NEW);
        setMode(path, mode, false);
    }

    /**
     * Sets the permissions of a file or folder that is not a link. The setuid, setgid and sticky bits are dropped. The
     * owner may always read, and may always write to folders: an ordinary user must be able to mount and to delete the
     * image.
     */
    static void setMode(Path path, int mode, boolean folder) throws IOException {
        int bits = (mode & PERMISSIONS) | (folder ? 0700 : 0400);
        StringBuilder text = new StringBuilder();
        for (int i = 8; i >= 0; i--) {
            text.append((bits >> i & 1) == 0 ? '-' : "xwr".charAt(i % 3));
        }
        Set<PosixFilePermission> permissions = PosixFilePermissions.fromString(text.toString());
        Files.setPosixFilePermissions(path, permissions);
    }

    /**
     * @throws FileAlreadyExistsException if a file has the link's path
     */
    void hardLink(Path link, String target) throws IOException {
        Path existing = locate(target, false);
        if (!Files.exists(existing, LinkOption.NOFOLLOW_LINKS)
                || Files.isDirectory(existing, LinkOption.NOFOLLOW_LINKS)) {
            throw new PathException("a layer has a hard link to '" + target + "', which is not a file of the image");
        }
        if (!existing.equals(link)) {
            clear(link);
            Files.createLink(link, existing);
        }
    }
}
