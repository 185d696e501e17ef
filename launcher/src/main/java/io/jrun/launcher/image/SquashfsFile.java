package io.jrun.launcher.image;

import io.jrun.agent.container.ContainerException;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * A .sqsh file that squashfs-tools make or read. The file appears when the file is complete. The compression has level
 * 9: for the files of a JDK the level 15, mksquashfs' default, needs nine times the CPU time, and the file is 1 % smaller.
 */
record SquashfsFile(Path path, Map<String, String> environment) {
    private static final String PART = ".part";

    /**
     * Files that every start of a JVM reads as a whole. The files are not compressed: the kernel may have one decompressor
     * for each mount, and the first JVM of a job waits for the decompressor.
     */
    private static final String NOT_COMPRESSED = "uncompressed@(name(libjvm.so)||name(classes*.jsa))";

    /** @throws UsageException if the file exists, or its folder does not */
    static SquashfsFile at(Path path, Map<String, String> environment) {
        if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            throw new UsageException(path + " exists already. Remove the file, or choose another name.");
        }
        if (path.getParent() == null || !Files.isDirectory(path.getParent())) {
            throw new UsageException(
                    path.getParent() + " is not a folder, so " + path.getFileName() + " cannot be made in it.");
        }
        return new SquashfsFile(path, environment);
    }

    /** Makes the file of a root folder: zstd but for files of JVMs, all files of root, no extended attributes. Reports the written bytes. */
    void make(Path root, Consumer<String> report) throws ContainerException, IOException, InterruptedException {
        String prefix = "." + path.getFileName() + "."
                + Files.readString(Path.of("/proc/sys/kernel/hostname")).strip() + ".";
        Path part = path.resolveSibling(prefix + ProcessHandle.current().pid() + PART);
        try (ProgressLines _ = ProgressLines.start(
                ProgressLines.EVERY,
                () -> "writing " + path + ": " + ImageText.size(part.toFile().length()) + " written",
                report)) {
            deleteAbandoned(prefix);
            ToolRun.run(
                    environment,
                    "squashfs-tools",
                    List.of(
                            "mksquashfs",
                            root.toString(),
                            part.toString(),
                            "-comp",
                            "zstd",
                            "-Xcompression-level",
                            "9",
                            "-action",
                            NOT_COMPRESSED,
                            "-all-root",
                            "-no-xattrs",
                            "-noappend",
                            "-no-progress",
                            "-quiet"));
            Files.move(part, path, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(part);
        }
    }

    /** Deletes the parts of this file that killed commands on this node have left. */
    private void deleteAbandoned(String prefix) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(Objects.requireNonNull(path.getParent()))) {
            for (Path file : files) {
                String name = file.getFileName().toString();
                if (name.startsWith(prefix) && name.endsWith(PART)) {
                    String pid =
                            name.substring(prefix.length(), Math.max(prefix.length(), name.length() - PART.length()));
                    if (pid.matches("[0-9]{1,18}")
                            && ProcessHandle.of(Long.parseLong(pid)).isEmpty()) {
                        Files.delete(file);
                    }
                }
            }
        }
    }

    /** Returns the settings of an image: its variables and its entrypoint script. */
    Map<String, String> read(Path image) throws ContainerException, IOException, InterruptedException {
        Map<String, String> settings = new LinkedHashMap<>();
        String statistics = ToolRun.run(environment, "squashfs-tools", List.of("unsquashfs", "-s", image.toString()));
        statistics
                .lines()
                .filter(line -> line.startsWith("Compression ") || line.startsWith("Number of inodes "))
                .forEach(line -> settings.put(
                        line.startsWith("C") ? "compression" : "files", line.substring(line.lastIndexOf(' ') + 1)));
        for (String file : List.of("etc/environment", "etc/rc")) {
            try {
                String content = ToolRun.run(
                        environment, "squashfs-tools", List.of("unsquashfs", "-cat", image.toString(), file));
                settings.put(file.substring("etc/".length()), content.strip());
            } catch (ContainerException e) {
                // The image has no file of this name.
            }
        }
        return settings;
    }
}
