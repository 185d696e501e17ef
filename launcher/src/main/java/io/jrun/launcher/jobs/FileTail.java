package io.jrun.launcher.jobs;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Reads a growing file from its beginning, or from its last lines: each call reads the bytes that were added since the last call. Confined to
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

    /** A reader that begins with the last lines that the file has now. A line without a newline at the end counts. */
    static FileTail ofLastLines(Path file, int lines) throws IOException {
        FileTail tail = new FileTail(file);
        tail.position = tail.startOfLastLines(lines);
        return tail;
    }

    /** A reader that begins with the line that has the byte at {@code offset}, or at the end of the file. */
    static FileTail ofLineAt(Path file, long offset) throws IOException {
        FileTail tail = new FileTail(file);
        tail.position = tail.startOfLine(offset);
        return tail;
    }

    /** The offset of the first byte that the next call of {@link #copyTo} copies. */
    long position() {
        return position;
    }

    private long startOfLine(long offset) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            long end = Math.min(offset, channel.size());
            while (end > 0) {
                int length = (int) Math.min(BUFFER_BYTES, end);
                buffer.clear().limit(length);
                while (buffer.hasRemaining() && channel.read(buffer, end - buffer.remaining()) > 0) {
                    // until the block is whole
                }
                for (int at = length - 1; at >= 0; at--) {
                    if (buffer.get(at) == '\n') {
                        return end - length + at + 1;
                    }
                }
                end -= length;
            }
            return 0;
        }
    }

    /** Reads backwards, block by block. */
    private long startOfLastLines(int lines) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            long size = channel.size();
            long newlines = 0; // behind the wanted line; the newline that ends the file is the first
            long end = lines == 0 ? 0 : size;
            while (end > 0) {
                int length = (int) Math.min(BUFFER_BYTES, end);
                buffer.clear().limit(length);
                while (buffer.hasRemaining() && channel.read(buffer, end - buffer.remaining()) > 0) {
                    // until the block is whole
                }
                for (int at = length - 1; at >= 0; at--) {
                    boolean isNewline = buffer.get(at) == '\n';
                    long behind = end - length + at + 1;
                    if (isNewline && behind < size && ++newlines == lines) {
                        return behind;
                    }
                }
                end -= length;
            }
            return lines == 0 ? size : 0;
        }
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
