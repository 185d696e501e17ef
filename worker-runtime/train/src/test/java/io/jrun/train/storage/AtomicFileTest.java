package io.jrun.train.storage;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.nio.file.Path;
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

    /** Hosts that share a folder have processes of the same id. */
    @Test
    void twoWritersNeverShareATemporaryFile() {
        Path file = folder.resolve("file");
        Path temporary = AtomicFile.temporary(file);
        assertThat(temporary.getParent()).isEqualTo(folder);
        assertThat(temporary).isNotEqualTo(AtomicFile.temporary(file));
    }
}
