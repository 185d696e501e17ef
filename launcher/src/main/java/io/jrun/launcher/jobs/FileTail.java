package io.jrun.launcher.jobs;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Reads a growing file from its beginning, or from a later line: each call reads the bytes that were added since the
 * last call. Confined to one thread.
 */
final class FileTail {
    private static final int BUFFER_BYTES = 1 << 16;
    private static final long NONE = -1;

    private final Path file;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
    private long position;

    FileTail(Path file) {
        this.file = file;
    }

    /** A reader that begins with the last lines that the file has now. A line without a newline at the end counts. */
    static FileTail ofLastLines(Path file, int lines) throws IOException {
        FileTail tail = new FileTail(file);
        try (FileChannel channel = FileChannel.open(file)) {
            long size = channel.size();
            tail.position = lines == 0 ? size : tail.offsetBehind(channel, size, lines, size);
        }
        return tail;
    }

    /** A reader that begins with the line that has the byte at {@code offset}, or at the end of the file. */
    static FileTail ofLineAt(Path file, long offset) throws IOException {
        FileTail tail = new FileTail(file);
        try (FileChannel channel = FileChannel.open(file)) {
            tail.position = tail.offsetBehind(channel, Math.min(offset, channel.size()), 1, NONE);
        }
        return tail;
    }

    /** The offset of the first byte that the next call of {@link #copyTo} copies. */
    long position() {
        return position;
    }

    /**
     * The offset behind the newline number {@code newlines}, counted backwards from {@code end}; else 0. A newline that
     * ends at {@code ignored} does not count. Reads backwards, block by block.
     */
    private long offsetBehind(FileChannel channel, long end, int newlines, long ignored) throws IOException {
        int found = 0;
        for (long rest = end; rest > 0; rest -= buffer.limit()) {
            buffer.clear().limit((int) Math.min(BUFFER_BYTES, rest));
            while (buffer.hasRemaining() && channel.read(buffer, rest - buffer.remaining()) > 0) {
                // until the block is whole
            }
            for (int at = buffer.limit() - 1; at >= 0; at--) {
                long behind = rest - buffer.limit() + at + 1;
                if (buffer.get(at) == '\n' && behind != ignored && ++found == newlines) {
                    return behind;
                }
            }
        }
        return 0;
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
