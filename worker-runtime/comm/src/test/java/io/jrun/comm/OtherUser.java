package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;

/**
 * A user without rights, whose programs run in JVMs of their own with comm's classes. Needs root.
 *
 * @param id of this test JVM alone: no job of another test sweeps this user's files
 * @param folder with the classes, which the user can read wherever the build lies
 */
record OtherUser(int id, Path folder) {
    private static final int FIRST_ID = 70_000;
    /** More than Linux has processes by default. */
    private static final int IDS = 32_768;

    private static final int CANNOT_EXECUTE = 126;
    private static final int NOT_FOUND = 127;

    static boolean canBeTaken() throws IOException {
        return Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0);
    }

    static OtherUser of(Path folder) throws IOException {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        for (Class<?> one : List.of(World.class, OtherUser.class)) {
            Path classes = Path.of(URI.create(
                    one.getProtectionDomain().getCodeSource().getLocation().toString()));
            copy(classes, folder.resolve(classes.getFileName()));
        }
        return new OtherUser(FIRST_ID + (int) (ProcessHandle.current().pid() % IDS), folder);
    }

    /** Makes the user the owner. */
    void give(Path file) throws IOException {
        Files.setAttribute(file, "unix:uid", id, LinkOption.NOFOLLOW_LINKS);
    }

    /** Runs a program of the tests as the other user and returns its output. Fails unless its exit code is 0. */
    String run(Class<?> main) throws IOException, InterruptedException {
        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(
                        "setpriv",
                        "--reuid=" + id,
                        "--regid=" + id,
                        "--clear-groups",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--add-modules=jdk.incubator.vector",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        "classes:test-classes",
                        main.getName())
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        int code = TestAgent.exitCode(process);
        String printed = Files.readString(output);
        assumeFalse(code == CANNOT_EXECUTE || code == NOT_FOUND, "another user cannot run this JDK: " + printed);
        assertThat(code).as(printed).isZero();
        return printed;
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> tree = Files.walk(from)) {
            for (Path file : tree.toList()) {
                Files.copy(file, to.resolve(from.relativize(file)));
            }
        }
    }
}
