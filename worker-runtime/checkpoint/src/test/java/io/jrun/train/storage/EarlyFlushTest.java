package io.jrun.train.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EarlyFlushTest {
    private static final int MEGABYTE = 1 << 20;

    @TempDir
    private Path folder;

    /** The kernel reports an error of the disk to one fsync only. */
    @Test
    void anErrorOfAnEarlyFsyncIsThrownOnce() throws IOException {
        FileChannel channel =
                FileChannel.open(folder.resolve("file"), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        EarlyFlush flush = new EarlyFlush(channel);
        flush.written(100L * MEGABYTE);
        flush.end();
        channel.close();
        flush.written(10L * MEGABYTE); // too few bytes
        flush.end();
        flush.written(100L * MEGABYTE);
        assertThatThrownBy(flush::end).isInstanceOf(ClosedChannelException.class);
        flush.end();
    }

    @Test
    void aFileThatIsFlushedEarlyHasAllBytes() throws IOException {
        ByteBuffer piece = ByteBuffer.allocateDirect(MEGABYTE);
        try (ObjectWriter writer = FileStorage.at(folder).create("part")) {
            for (int i = 0; i < 150; i++) {
                writer.write(piece.clear().put(0, (byte) i));
            }
            writer.finish();
        }
        Path part = folder.resolve("part");
        assertThat(part).hasSize(150L * MEGABYTE);
        try (FileChannel channel = FileChannel.open(part)) {
            for (int i = 0; i < 150; i++) {
                ByteBuffer first = ByteBuffer.allocate(1);
                assertThat(channel.read(first, (long) i * MEGABYTE)).isOne();
                assertThat(first.get(0)).isEqualTo((byte) i);
            }
        }
        Files.delete(part);
    }
}
