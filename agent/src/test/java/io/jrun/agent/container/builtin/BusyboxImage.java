package io.jrun.agent.container.builtin;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The smallest image that there is: a static busybox and nothing else, not even an /etc. */
final class BusyboxImage {
    private static final Path BUSYBOX = Path.of("/usr/bin/busybox");

    private static final List<String> APPLETS = List.of(
            "sh",
            "cat",
            "ls",
            "id",
            "touch",
            "mkdir",
            "rm",
            "sleep",
            "pwd",
            "env",
            "readlink",
            "umount",
            "mount",
            "chroot",
            "stat",
            "kill",
            "hostname",
            "ip");

    private BusyboxImage() {}

    static boolean isPossible() {
        return Files.isExecutable(BUSYBOX);
    }

    static Path folder(Path root) throws IOException {
        Files.createDirectories(root.resolve("bin"));
        Files.copy(BUSYBOX, root.resolve("bin/busybox"));
        for (String applet : APPLETS) {
            Files.createSymbolicLink(root.resolve("bin").resolve(applet), Path.of("busybox"));
        }
        return root;
    }

    static Path squashfs(Path root, Path file) throws IOException, InterruptedException {
        Process made = new ProcessBuilder(
                        "mksquashfs", root.toString(), file.toString(), "-noappend", "-quiet", "-no-progress")
                .redirectErrorStream(true)
                .start();
        String said = new String(made.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (made.waitFor() != 0) {
            throw new IOException("mksquashfs: " + said);
        }
        return file;
    }
}
