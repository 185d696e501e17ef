package io.jrun.agent.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PrivateFolderTest {
    @TempDir
    private Path folder;

    @Test
    void newFolderIsItsUsersAloneAndIsTakenAgain() throws IOException {
        Path made = folder.resolve("a/b");
        PrivateFolder.claim(made);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(made)))
                .isEqualTo("rwx------");
        PrivateFolder.claim(made);
        PrivateFolder.claim(
                Files.createSymbolicLink(folder.resolve("link"), made).resolve("below"));
        assertThat(made.resolve("below")).isDirectory();
    }

    @Test
    void folderOfAnotherUserIsRefused() throws Exception {
        assumeTrue(
                Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0),
                "only root can make a folder of another user");
        Path theirs = Files.createDirectory(folder.resolve("theirs"));
        assertThat(new ProcessBuilder("chown", "65534", theirs.toString())
                        .start()
                        .waitFor())
                .isZero();
        assertThatThrownBy(() -> PrivateFolder.claim(theirs))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith("it belongs to user ")
                .hasMessageContaining(", not to ");
        assertThat(theirs).isEmptyDirectory();
    }
}
