package io.jrun.agent.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
        // Its owner could replace whatever is made in it, so that nothing there says whose the folder is.
        try (WatchService watch = theirs.getFileSystem().newWatchService()) {
            WatchKey made = theirs.register(watch, StandardWatchEventKinds.ENTRY_CREATE);
            assertThatThrownBy(() -> PrivateFolder.claim(theirs))
                    .isInstanceOf(IOException.class)
                    .hasMessageStartingWith(theirs + " belongs to user ")
                    .hasMessageContaining(", not to ")
                    .hasMessageEndingWith("; ask an administrator to remove the folder, or choose another folder");
            Path last = Files.createDirectory(theirs.resolve("last"));
            assertThat(watch.poll(10, TimeUnit.SECONDS)).isSameAs(made);
            assertThat(made.pollEvents())
                    .first()
                    .extracting(WatchEvent::context)
                    .isEqualTo(last.getFileName());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"rwxrwx---", "rwx---rwx", "rwxrwxrwx"})
    void folderThatOthersMayWriteToIsRefused(String mode) throws IOException {
        Path open = Files.createDirectory(folder.resolve("open"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString(mode));

        assertThatThrownBy(() -> PrivateFolder.claim(open))
                .hasMessageStartingWith(open + " is writable for other users (mode " + mode + ")")
                .hasMessageContaining("chmod go-w " + open);
        assertThatThrownBy(() -> PrivateFolder.exists(open)).hasMessageStartingWith(open + " is writable");

        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxr-xr-x"));
        PrivateFolder.claim(open);
        assertThat(PrivateFolder.exists(open)).isTrue();
        assertThat(PrivateFolder.exists(folder.resolve("none"))).isFalse();
    }
}
