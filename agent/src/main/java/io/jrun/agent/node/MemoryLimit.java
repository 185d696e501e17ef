package io.jrun.agent.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The usable memory: the lower of MemTotal in /proc/meminfo and the limit of this process's cgroup (v2 or v1). */
final class MemoryLimit {
    private MemoryLimit() {}

    static long usableBytes(Path root) {
        long total = memTotal(root);
        long limit = cgroupLimit(root);
        return total == 0 ? limit : Math.min(total, limit);
    }

    private static long memTotal(Path root) {
        for (String line : lines(root.resolve("proc/meminfo"))) {
            if (line.startsWith("MemTotal:")) {
                String kibibytes = line.substring("MemTotal:".length()).replace("kB", "");
                return Long.parseLong(kibibytes.strip()) * 1024;
            }
        }
        return 0;
    }

    private static long cgroupLimit(Path root) {
        long limit = Long.MAX_VALUE;
        for (String line : lines(root.resolve("proc/self/cgroup"))) {
            String[] fields = line.split(":", 3);
            if (fields.length < 3) {
                continue;
            }
            if (fields[0].equals("0") && fields[1].isEmpty()) {
                limit = Math.min(limit, lowest(root.resolve("sys/fs/cgroup"), fields[2], "memory.max"));
            } else if (List.of(fields[1].split(",", -1)).contains("memory")) {
                limit = Math.min(
                        limit, lowest(root.resolve("sys/fs/cgroup/memory"), fields[2], "memory.limit_in_bytes"));
            }
        }
        return limit;
    }

    /**
     * Returns the lowest limit from the group up to the root. Inside a container the path of the group may not exist
     * below the mount, but the root exists.
     */
    private static long lowest(Path mount, String group, String file) {
        long limit = Long.MAX_VALUE;
        for (Path at = Path.of(mount + "/" + group).normalize();
                at != null && at.startsWith(mount);
                at = at.getParent()) {
            limit = Math.min(limit, limitIn(at.resolve(file)));
        }
        return limit;
    }

    private static long limitIn(Path file) {
        List<String> content = lines(file);
        if (content.isEmpty() || content.getFirst().equals("max")) {
            return Long.MAX_VALUE;
        }
        try {
            return Long.parseLong(content.getFirst().strip());
        } catch (NumberFormatException e) {
            return Long.MAX_VALUE;
        }
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            return List.of(); // not mounted or not readable: no known limit
        }
    }
}
