package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** {@code jrun image create --debian}. */
class ImageCreateIT extends RealJobs {
    private static final String[] CREATE = {"image", "create", "made.sqsh", "--debian=bookworm"};

    /** Makes a file of the root, and sleeps if the test wants it. */
    private static final String MMDEBSTRAP = """
            #!/bin/sh
            for root; do :; done
            mkdir -p "$root/etc" && touch "$root/etc/file"
            [ -e "$HOLD" ] || { echo 'E: of the test' >&2; exit 7; }
            echo $$ > "$HOLD"
            exec sleep 1000
            """;

    @Test
    void whatAKilledCommandHasLeftGoesWithTheNext() throws Exception {
        Path tools = Files.createDirectory(folder.resolve("tools"));
        Path tool = Files.writeString(tools.resolve("mmdebstrap"), MMDEBSTRAP);
        Files.setPosixFilePermissions(tool, PosixFilePermissions.fromString("rwx------"));
        Path hold = Files.createFile(folder.resolve("hold"));
        jrun.with("PATH", tools + ":" + System.getenv("PATH")).with("HOLD", hold.toString());
        Set<Path> before = temporaryFolders();

        Running killed = jrun.start(CREATE);
        JRun.waitFor(() -> hold.toFile().length() > 0, "the tool");
        killed.signal("KILL");
        killed.await();
        assertThat(temporaryFolders()).hasSize(before.size() + 1);
        Path sleeper = Path.of("/proc", Files.readString(hold).strip());
        JRun.waitFor(() -> !Files.exists(sleeper), "the end of the tool");

        Files.delete(hold);
        Result failed = jrun.run(CREATE);
        assertThat(failed.exitCode()).isEqualTo(1);
        assertThat(failed.err()).contains("mmdebstrap failed with exit code 7: E: of the test");
        assertThat(temporaryFolders()).isEqualTo(before);

        Files.createFile(hold);
        Running terminated = jrun.start(CREATE);
        JRun.waitFor(() -> hold.toFile().length() > 0, "the tool");
        terminated.signal("TERM");
        assertThat(terminated.await().exitCode()).isEqualTo(143);
        assertThat(temporaryFolders()).isEqualTo(before);
        assertThat(folder.resolve("made.sqsh")).doesNotExist();
    }

    @Test
    @EnabledIfSystemProperty(named = "jrun.soak", matches = "true", disabledReason = "takes minutes: -Djrun.soak=true")
    void aJobRunsInAMinimalDebian() {
        assumeTrue(TestCommand.exists("mmdebstrap"), "needs the package mmdebstrap");
        Result made = jrun.run(CREATE);
        assumeTrue(!made.err().contains("mmdebstrap failed"), () -> "no mirror of Debian: " + made.err());
        assertThat(made.exitCode()).as(made.err()).isZero();

        Result job = jrun.run(
                "--container-image=./made.sqsh",
                "--container-java=image",
                "sh",
                "-c",
                "java -version 2>&1; cat /etc/os-release");
        assertThat(job.exitCode()).as(job.err()).isZero();
        assertThat(job.out())
                .contains(
                        "VERSION_CODENAME=bookworm",
                        "openjdk version \"" + Runtime.version().feature());
    }

    private static Set<Path> temporaryFolders() throws IOException {
        Set<Path> folders = new TreeSet<>();
        try (DirectoryStream<Path> found =
                Files.newDirectoryStream(Path.of(System.getProperty("java.io.tmpdir")), "jrun-image-*")) {
            found.forEach(folders::add);
        }
        return folders;
    }
}
