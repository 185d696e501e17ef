package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.TreeMap;

/**
 * The files of a worker as a model, before any mount is made: the image, the layer of mount points over the image, and
 * the mounts over both. The class resolves paths and links inside this tree only: an image's link to {@code /etc} or
 * {@code ../../etc} never leads to the node's folder. Confined to one thread.
 */
final class ContainerRoot {
    /** The kernel's limit of links in one path. */
    private static final int MAX_LINKS = 40;

    private static final String ROOT = "";

    private final Path image;
    private final MountPointLayer layer;
    private final TreeMap<String, Mounted> mounted = new TreeMap<>();

    /**
     * @param view the path by which the agent sees the mounted files; for memory a path that does not exist
     */
    private record Mounted(Path view, boolean writable) {}

    ContainerRoot(Path image, MountPointLayer layer) {
        this.image = image;
        this.layer = layer;
    }

    /** The path by which the agent sees the file at {@code inside}. The method does not follow a link at the end. */
    Path locate(String inside) {
        Map.Entry<String, Mounted> mount = mountOf(inside);
        if (mount != null) {
            return below(
                    mount.getValue().view(), inside.substring(mount.getKey().length()));
        }
        Path made = below(layer.folder(), inside);
        return Files.exists(made, LinkOption.NOFOLLOW_LINKS) ? made : below(image, inside);
    }

    private Map.@org.jspecify.annotations.Nullable Entry<String, Mounted> mountOf(String inside) {
        for (String path = inside; !path.isEmpty(); path = parent(path)) {
            Mounted found = mounted.get(path);
            if (found != null) {
                return Map.entry(path, found);
            }
        }
        return null;
    }

    private static Path below(Path folder, String inside) {
        return inside.isEmpty() ? folder : folder.resolve(inside.substring(1));
    }

    private static String parent(String inside) {
        return inside.substring(0, Math.max(0, inside.lastIndexOf('/')));
    }

    /**
     * The path without links, {@code .} and {@code ..}; empty for the root. Names that do not exist stay as they are.
     *
     * @param followLast whether a link at the very end is followed, too
     */
    String resolve(String path, boolean followLast) throws ContainerException {
        Deque<String> names = new ArrayDeque<>();
        push(names, path);
        String current = ROOT;
        int links = 0;
        while (!names.isEmpty()) {
            String name = names.pop();
            if (name.equals("..")) {
                current = parent(current);
                continue;
            }
            String next = current + "/" + name;
            Path seen = locate(next);
            if (!Files.isSymbolicLink(seen) || (names.isEmpty() && !followLast)) {
                current = next;
                continue;
            }
            if (++links > MAX_LINKS) {
                throw new ContainerException("inside the container, " + path + " leads through more than " + MAX_LINKS
                        + " symbolic links; choose another path");
            }
            String target = read(seen);
            current = target.startsWith("/") ? ROOT : current;
            push(names, target);
        }
        return current;
    }

    private static void push(Deque<String> names, String path) {
        String[] parts = path.split("/", -1);
        for (int i = parts.length - 1; i >= 0; i--) {
            if (!parts[i].isEmpty() && !parts[i].equals(".")) {
                names.push(parts[i]);
            }
        }
    }

    private static String read(Path link) throws ContainerException {
        try {
            return Files.readSymbolicLink(link).toString();
        } catch (IOException e) {
            throw new ContainerException("a symbolic link of the image cannot be read: " + e.getMessage(), e);
        }
    }

    /**
     * Makes the mount point at a path if necessary, and records the mount.
     *
     * @param inside resolved
     * @param view the path by which the agent sees the files of the mount
     * @param directory true for a folder, false for a file
     */
    void mount(String inside, Path view, boolean directory, boolean writable) throws ContainerException {
        point(inside, directory);
        mounted.tailMap(inside + "/", true).keySet().removeIf(below -> below.startsWith(inside + "/"));
        mounted.put(inside, new Mounted(view, writable));
    }

    /** Removes the records of mounts at a path and below. Returns false if there is no mount. */
    boolean unmount(String inside) {
        return mounted.keySet().removeIf(path -> path.equals(inside) || path.startsWith(inside + "/"));
    }

    /** The path by which the agent sees the file of a worker's path, after all links. The file may not exist. */
    Path find(String path) throws ContainerException {
        return locate(resolve(path, true));
    }

    private void point(String inside, boolean directory) throws ContainerException {
        Map.Entry<String, Mounted> outer = mountOf(parent(inside));
        Path seen = locate(inside);
        if (outer != null && Files.exists(seen, LinkOption.NOFOLLOW_LINKS)) {
            check(inside, seen, directory);
        } else if (outer == null) {
            layer.make(image, inside, directory);
        } else if (outer.getValue().writable()) {
            makeIn(seen, inside, directory);
        } else {
            throw new ContainerException(
                    "nothing can be mounted at " + inside + " inside the container: " + outer.getKey()
                            + " is mounted read-only at this path and holds no such " + (directory ? "folder" : "file")
                            + "; make the path on the node first");
        }
    }

    private static void check(String inside, Path seen, boolean directory) throws ContainerException {
        if (Files.isDirectory(seen, LinkOption.NOFOLLOW_LINKS) != directory) {
            throw MountPointLayer.mismatch(inside, directory);
        }
    }

    private static void makeIn(Path seen, String inside, boolean directory) throws ContainerException {
        try {
            if (directory) {
                Files.createDirectories(seen);
            } else {
                Files.createDirectories(seen.getParent());
                Files.createFile(seen);
            }
        } catch (IOException e) {
            throw new ContainerException(
                    "the mount point " + inside + " cannot be made: " + ContainerException.words(e), e);
        }
    }
}
