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
 * A root file system that is being made. Links are followed inside the root alone, component by component, as a process with this root
 * would follow them: nothing is ever made, changed or deleted outside. Nobody else writes to the folder, which belongs to this
 * user alone. Confined to one thread.
 */
final class ImageRoot {
    /** As the kernel's limit of links in one path. */
    private static final int MAX_LINKS = 40;

    private static final int PERMISSIONS = 0777;

    private final Path root;

    /** A path of a layer would lead out of the image, or through what is no folder. */
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
     * Where an entry of a layer is: its folder without links, and its own name. A link at the end is not followed.
     *
     * @param make whether missing folders are made
     * @return the root for the root itself; a path in no folder if {@code make} is false and a folder is missing
     * @throws PathException if the name has a component {@code ..}, or leads through a file
     */
    Path locate(String name, boolean make) throws IOException {
        Deque<String> names = new ArrayDeque<>();
        push(names, name);
        if (names.contains("..")) {
            throw new PathException("a layer has the path '" + name + "', which leads out of the image");
        }
        if (names.isEmpty()) {
            return root;
        }
        String last = names.removeLast();
        return folder(names, name, make).resolve(last);
    }

    /** Folders of a path of the image, with all links followed inside; missing ones are made. */
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
            if (next.equals("..")) { // of a link
                current = parent(current);
                continue;
            }
            Path path = current.resolve(next);
            if (Files.isSymbolicLink(path)) {
                if (++links > MAX_LINKS) {
                    throw new PathException("a layer has the path '" + name + "', which leads through more than "
                            + MAX_LINKS + " links");
                }
                String target = Files.readSymbolicLink(path).toString();
                current = target.startsWith("/") ? root : current;
                push(names, target);
                continue;
            }
            if (!Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
                if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
                    throw new PathException(
                            "a layer has the path '" + name + "', in which a file is taken for a folder");
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

    /** Makes a folder, or keeps one that is there; anything else there is replaced. */
    static void makeFolder(Path path, int mode) throws IOException {
        if (!Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
            Files.deleteIfExists(path);
            Files.createDirectory(path);
        }
        setMode(path, mode, true);
    }

    /** Makes room for a file or link: deletes what is there. */
    static void clear(Path path) throws IOException {
        FolderDeletion.delete(path);
    }

    /** Writes a small file of jrun's own, through links of the image inside the image. */
    void write(String name, byte[] content, int mode) throws IOException {
        Path path = locate(name, true);
        clear(path);
        Files.write(path, content, java.nio.file.StandardOpenOption.CREATE_NEW);
        setMode(path, mode, false);
    }

    /**
     * Sets the permissions of a file or folder that is no link. The setuid, setgid and sticky bits are left out. The owner may
     * always read, and may always write to folders: an ordinary user must be able to mount and to delete the image.
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

    /** @throws FileAlreadyExistsException if the link's place is taken */
    void hardLink(Path link, String target) throws IOException {
        Path existing = locate(target, false);
        if (!Files.exists(existing, LinkOption.NOFOLLOW_LINKS)
                || Files.isDirectory(existing, LinkOption.NOFOLLOW_LINKS)) {
            throw new PathException("a layer has a hard link to '" + target + "', which is no file of the image");
        }
        if (!existing.equals(link)) {
            clear(link);
            Files.createLink(link, existing);
        }
    }
}
