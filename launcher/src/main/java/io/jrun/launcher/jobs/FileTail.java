package io.jrun.launcher.jobs;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Reads a growing file from its beginning: each call reads the bytes that were added since the last call. Confined to
 * one thread.
 */
final class FileTail {
    private static final int BUFFER_BYTES = 1 << 16;

    private final Path file;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
    private long position;

    FileTail(Path file) {
        this.file = file;
    }

    /** Copies the bytes that were added since the last call. */
    void copyTo(OutputStream out) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            while (channel.read(buffer.clear(), position) > 0) {
                out.write(buffer.array(), 0, buffer.position());
                position += buffer.position();
            }
            out.flush();
        } catch (NoSuchFileException e) {
            // the file does not exist yet
        }
    }
}
