package io.jrun.agent.container.builtin;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;

/**
 * The mounts of the node, from /proc/self/mountinfo. A namespace of an ordinary user may not remove the flags of these
 * mounts.
 */
final class NodeMounts {
    private static final int POINT = 4;
    private static final int OPTIONS = 5;

    /** The flags that the kernel locks. A change of other flags must repeat these. */
    private static final Set<String> LOCKED =
            Set.of("ro", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime");

    private final TreeMap<String, List<String>> flags = new TreeMap<>();

    /**
     * @param lines the lines of a mountinfo file
     */
    NodeMounts(List<String> lines) {
        for (String line : lines) {
            String[] fields = line.split(" ", -1);
            if (fields.length > OPTIONS) {
                flags.put(
                        FstabFile.unescape(fields[POINT]),
                        List.of(fields[OPTIONS].split(",", -1)).stream()
                                .filter(LOCKED::contains)
                                .toList());
            }
        }
    }

    static NodeMounts read() throws IOException {
        return new NodeMounts(Files.readAllLines(Path.of("/proc/self/mountinfo"), StandardCharsets.UTF_8));
    }

    /** The flags of the mount of a file. */
    List<String> flagsOf(Path file) {
        for (Path path = file; path != null; path = path.getParent()) {
            List<String> found = flags.get(path.toString());
            if (found != null) {
                return found;
            }
        }
        return List.of();
    }

    /** Whether a file system of the node is mounted at a path. */
    boolean has(Path point) {
        return flags.containsKey(point.toString());
    }

    /** The mount points below a folder, as paths relative to the folder, outer mount points first. */
    List<Path> below(Path folder) {
        List<Path> points = new ArrayList<>();
        for (String point : flags.keySet()) {
            Path path = Path.of(point);
            if (path.startsWith(folder) && !path.equals(folder)) {
                points.add(folder.relativize(path));
            }
        }
        return points;
    }
}
