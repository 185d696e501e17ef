package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
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
        Path temporary = Files.createDirectory(folder.resolve("temporary"));
        jrun.with("PATH", tools + ":" + System.getenv("PATH"))
                .with("HOLD", hold.toString())
                .with("TMPDIR", temporary.toString());

        Running killed = jrun.start(CREATE);
        JRun.waitFor(() -> hold.toFile().length() > 0, "the tool");
        killed.signal("KILL");
        killed.await();
        assertThat(files(temporary)).hasSize(1);
        Path sleeper = Path.of("/proc", Files.readString(hold).strip());
        JRun.waitFor(() -> !Files.exists(sleeper), "the end of the tool");

        Files.delete(hold);
        Result failed = jrun.run(CREATE);
        assertThat(failed.exitCode()).isEqualTo(1);
        assertThat(failed.err()).contains("mmdebstrap failed with exit code 7: E: of the test");
        assertThat(temporary).isEmptyDirectory();

        Files.createFile(hold);
        Running terminated = jrun.start(CREATE);
        JRun.waitFor(() -> hold.toFile().length() > 0, "the tool");
        terminated.signal("TERM");
        assertThat(terminated.await().exitCode()).isEqualTo(143);
        assertThat(temporary).isEmptyDirectory();
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

    private static List<Path> files(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.toList();
        }
    }
}
