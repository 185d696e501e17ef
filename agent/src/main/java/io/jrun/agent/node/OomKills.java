package io.jrun.agent.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;

/** The number of processes of this process's cgroup that the kernel has killed for memory; empty if unreadable. */
public final class OomKills {
    private OomKills() {}

    /** The counter now: {@code oom_kill} of cgroup v2's memory.events or v1's memory.oom_control. */
    public static OptionalLong count(Path root) {
        try {
            for (String line : Files.readAllLines(root.resolve("proc/self/cgroup"))) {
                String[] fields = line.split(":", 3);
                OptionalLong count = fields.length == 3 ? countOf(root, fields[1], fields[2]) : OptionalLong.empty();
                if (count.isPresent()) {
                    return count;
                }
            }
        } catch (IOException e) {
            return OptionalLong.empty();
        }
        return OptionalLong.empty();
    }

    private static OptionalLong countOf(Path root, String controller, String group) throws IOException {
        Path mount = root.resolve("sys/fs/cgroup");
        return switch (controller) {
            case "" -> read(mount, group, "memory.events");
            case "memory" -> read(mount.resolve("memory"), group, "memory.oom_control");
            default -> OptionalLong.empty();
        };
    }

    /**
     * Reads the counter. Inside a container the group in /proc is not visible, and the root of the mount is the group
     * of the container.
     */
    private static OptionalLong read(Path mount, String group, String name) throws IOException {
        for (Path file : new Path[] {Path.of(mount + "/" + group, name), mount.resolve(name)}) {
            if (!Files.isReadable(file)) {
                continue;
            }
            for (String line : Files.readAllLines(file)) {
                if (line.startsWith("oom_kill ")) {
                    return OptionalLong.of(
                            Long.parseLong(line.substring("oom_kill ".length()).strip()));
                }
            }
        }
        return OptionalLong.empty();
    }
}
