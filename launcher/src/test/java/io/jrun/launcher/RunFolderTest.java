package io.jrun.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunFolderTest {
    @TempDir
    private Path folder;

    private final List<String> said = new ArrayList<>();

    @Test
    void logsOfEarlierJobsAreKeptBeside() throws IOException {
        Path run = folder.resolve("logs/nightly");
        for (String text : List.of("first", "second", "third")) {
            try (RunFolder _ = RunFolder.claim(run, said::add)) {
                assertThat(run.resolve("attempt-0")).doesNotExist();
                Files.createDirectories(run.resolve("attempt-0"));
                Files.writeString(run.resolve("attempt-0/stdout.log"), text);
            }
        }
        assertThat(folder.resolve("logs/nightly.1/attempt-0/stdout.log")).hasContent("first");
        assertThat(folder.resolve("logs/nightly.2/attempt-0/stdout.log")).hasContent("second");
        assertThat(run.resolve("attempt-0/stdout.log")).hasContent("third");
        assertThat(said)
                .containsExactly(
                        "the logs of an earlier job of this name are now in " + run + ".1",
                        "the logs of an earlier job of this name are now in " + run + ".2");
    }

    @Test
    void folderOfNoLogsIsTakenAsItIs() throws IOException {
        RunFolder.claim(folder, said::add).close();
        RunFolder.claim(folder, said::add).close();
        assertThat(said).isEmpty();
    }

    /** In a log folder that others can write to, another user may have guessed the run's name. */
    @Test
    void folderOfAnotherUserIsRefused() throws IOException {
        Path elsewhere = Files.createDirectory(folder.resolve("elsewhere"));
        Path run = Files.createSymbolicLink(folder.resolve("run"), elsewhere);
        assertThatThrownBy(() -> RunFolder.claim(run, said::add))
                .isInstanceOf(UsageException.class)
                .hasMessageStartingWith("the log folder " + run + " cannot be written: " + run
                        + " is a symbolic link, to " + elsewhere);
        assertThat(elsewhere).isEmptyDirectory();
        Path file = Files.createFile(folder.resolve("file"));
        assertThatThrownBy(() -> RunFolder.claim(file, said::add)).hasMessageContaining(file + " is not a folder");
    }

    @Test
    void folderThatCannotBeMadeIsAUsageError() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "");
        assertThatThrownBy(() -> RunFolder.claim(file.resolve("run"), said::add))
                .isInstanceOf(UsageException.class)
                .hasMessageStartingWith("the log folder " + file + "/run cannot be written: ");
    }
}
