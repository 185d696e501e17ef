package io.jrun.agent.container.builtin;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Runs {@link ContainerHostMain} as an ordinary user who may open /dev/fuse, which is root's on some machines. */
final class OtherUser {
    private static final String UID = "65534";

    private static final String BECOME = """
            [ -e "$1/fuse" ] || mknod "$1/fuse" c 10 229 && chmod 666 "$1/fuse" && mount --bind "$1/fuse" /dev/fuse || exit 98
            jobs=$1/jobs-of-other
            mkdir -p "$jobs" && chown %s "$jobs"
            shift
            exec setpriv --reuid %s --regid %s --clear-groups "$@"
            """.formatted(UID, UID, UID);

    private final Path folder;
    private final Path classes;

    OtherUser(Path folder, Path classes) {
        this.folder = folder;
        this.classes = classes;
    }

    /** Copies the classes of the engine to a folder that all users can read. */
    static Path copyOfClasses(Path target) throws IOException {
        for (String root : System.getProperty("java.class.path").split(":", -1)) {
            Path entry = Path.of(root);
            if (Files.isDirectory(entry)) {
                copyNeeded(entry, target);
            } else if (entry.getFileName().toString().startsWith("jrun-")) {
                try (FileSystem jar = FileSystems.newFileSystem(entry)) {
                    copyNeeded(jar.getPath("/"), target);
                }
            }
        }
        for (int names = 2; names < target.getNameCount(); names++) {
            Path path = Path.of("/").resolve(target.subpath(0, names));
            if (Files.isWritable(path) && Files.getOwner(path).getName().equals("root")) {
                Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-xr-x"));
            }
        }
        return target;
    }

    private static void copyNeeded(Path classes, Path target) throws IOException {
        for (String name :
                List.of("io/jrun/agent/container", "io/jrun/agent/files", "io/jrun/agent/node", "io/jrun/comm/file")) {
            Path from = classes.resolve(name);
            if (Files.isDirectory(from)) {
                copy(from, target.resolve(name));
            }
        }
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                Path copied = to.resolve(from.relativize(file).toString());
                if (Files.isDirectory(file)) {
                    Files.createDirectories(copied);
                } else {
                    Files.copy(file, copied, StandardCopyOption.REPLACE_EXISTING);
                }
            }
        }
    }

    String run(Path image, String script, String... options) throws Exception {
        List<String> words = new ArrayList<>(List.of("unshare", "--mount", "sh", "-c", BECOME, "become"));
        words.addAll(List.of(folder.toString(), System.getProperty("java.home") + "/bin/java"));
        words.addAll(List.of("-XX:TieredStopAtLevel=1", "-cp", classes.toString(), ContainerHostMain.class.getName()));
        words.addAll(List.of(folder.resolve("jobs-of-other").toString(), image.toString()));
        words.addAll(List.of(options));
        words.addAll(List.of("--", "sh", "-c", script));
        Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        Files.deleteIfExists(folder.resolve("fuse"));
        return said;
    }
}
