package io.jrun.train.storage;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.file.FileType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AtomicFileTest {
    @TempDir
    private Path folder;

    /** A closed channel cannot be synced: its file must not have got the name before. */
    @Test
    void anIncompleteFileReplacesNothing() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "old");
        assertThatThrownBy(() -> AtomicFile.write(file, channel -> {
                    assertThat(channel.write(ByteBuffer.wrap("new".getBytes(UTF_8))))
                            .isEqualTo(3);
                    channel.close();
                }))
                .isInstanceOf(ClosedChannelException.class);
        assertThat(file).hasContent("old");
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactly(file);
        }
    }

    /** A rename without an fsync of the folder may be lost in a power failure, although the writer has returned. */
    @Test
    void theNameIsDurableWhenTheWriterReturns() throws IOException {
        PowerFailure disk = new PowerFailure(0);
        AtomicFile.write(FaultyFileSystem.path(folder.resolve("file"), disk), channel -> {
            int _ = channel.write(ByteBuffer.wrap("new".getBytes(UTF_8)));
        });
        assertThat(disk.log().stream().map(each -> each.replaceFirst("\\.file\\..*", "TEMPORARY")))
                .containsSubsequence(
                        "create TEMPORARY",
                        "write TEMPORARY",
                        "fsync TEMPORARY",
                        "rename to file",
                        "fsync " + folder.getFileName());
    }

    /** As root, a rename would replace /dev/null for all programs of the machine. */
    @Test
    void onlyFilesAreReplacedAndALinkStays() throws Exception {
        Path pipe = folder.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        Path toPipe = Files.createSymbolicLink(folder.resolve("to-pipe"), pipe);
        for (Path target : List.of(pipe, toPipe)) {
            assertThatThrownBy(() -> AtomicFile.write(target, _ -> {}))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("it is a pipe, not a regular file");
        }
        assertThat(FileType.of(pipe)).isEqualTo(FileType.PIPE);
        Path file = Files.writeString(folder.resolve("file"), "old");
        Path link = Files.createSymbolicLink(folder.resolve("link"), file);
        AtomicFile.write(link, channel -> {
            int _ = channel.write(ByteBuffer.wrap("new".getBytes(UTF_8)));
        });
        assertThat(link).isSymbolicLink();
        assertThat(file).hasContent("new");
    }

    /** Hosts that share a folder have processes of the same id. */
    @Test
    void twoWritersNeverShareATemporaryFile() {
        Path file = folder.resolve("file");
        Path temporary = AtomicFile.temporary(file);
        assertThat(temporary.getParent()).isEqualTo(folder);
        assertThat(temporary).isNotEqualTo(AtomicFile.temporary(file));
    }
}
