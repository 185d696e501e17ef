package io.jrun.launcher.jobs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Jobs of an ordinary user who may open /dev/fuse, which is root's on machines without udev. Stateless. */
final class OrdinaryUser {
    static final String UID = "65534";

    /**
     * Arguments: a folder of the test, then a command. The device exists in the mount namespace of the command only.
     */
    private static final String BECOME = """
            mount -t tmpfs -o mode=711 fuse /mnt && mknod /mnt/fuse c 10 229 && chmod 666 /mnt/fuse || exit 98
            mount --bind /mnt/fuse /dev/fuse && umount -l /mnt || exit 98
            exec setpriv --reuid %1$s --regid %1$s --clear-groups "$@"
            """.formatted(UID);

    /** For a node of a cluster, which has a mount namespace already. */
    static final String FUSE_FOR_ALL = BECOME.lines().limit(2).reduce("", (all, line) -> all + line + "\n");

    private OrdinaryUser() {}

    /** Words before a command that the user runs. */
    static List<String> wrapper() {
        return List.of("unshare", "--mount", "sh", "-c", BECOME, "become");
    }

    /** Gives a folder of a test with all that is in it to the user. */
    static void own(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                if (!Files.isSymbolicLink(file)) {
                    Files.setAttribute(file, "unix:uid", Integer.parseInt(UID));
                }
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
