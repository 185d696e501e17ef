package io.jrun.launcher.jobs;

import io.jrun.agent.log.LogBytes;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.function.LongConsumer;

/**
 * Reads a growing file from its beginning, or from a later line: each call reads the bytes that were added since the
 * last call. The bytes of a worker's log may lie in several files, and the oldest may be removed. Confined to one thread.
 */
final class FileTail {
    private static final int BUFFER_BYTES = 1 << 16;
    private static final long NONE = -1;

    private final Path file;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
    private long position;
    private long removed; // bytes before the first position, if a removed line may belong to the result

    FileTail(Path file) {
        this.file = file;
    }

    /** A reader that begins with the last lines that the file has now. A line without a newline at the end counts. */
    static FileTail ofLastLines(Path file, int lines) throws IOException {
        FileTail tail = new FileTail(file);
        try (LogBytes bytes = new LogBytes(file)) {
            long size = bytes.end();
            tail.begin(bytes, lines == 0 ? size : tail.offsetBehind(bytes, size, lines, size));
        }
        return tail;
    }

    /** A reader that begins with the line that has the byte at {@code offset}, or at the end of the file. */
    static FileTail ofLineAt(Path file, long offset) throws IOException {
        FileTail tail = new FileTail(file);
        try (LogBytes bytes = new LogBytes(file)) {
            tail.begin(bytes, tail.offsetBehind(bytes, Math.min(offset, bytes.end()), 1, NONE));
        }
        return tail;
    }

    private void begin(LogBytes bytes, long offset) throws IOException {
        position = offset;
        removed = offset > 0 && offset == bytes.firstKept(0) ? offset : 0;
    }

    /** The offset of the first byte that the next call of {@link #copyTo} copies. */
    long position() {
        return position;
    }

    /**
     * The offset behind the newline number {@code newlines}, counted backwards from {@code end}; else the first offset that was not
     * removed. A newline that
     * ends at {@code ignored} does not count. Reads backwards, block by block.
     */
    private long offsetBehind(LogBytes bytes, long end, int newlines, long ignored) throws IOException {
        int found = 0;
        long begin = bytes.firstKept(0);
        for (long rest = end; rest > begin; rest -= buffer.limit()) {
            buffer.clear().limit((int) Math.min(BUFFER_BYTES, rest - begin));
            while (buffer.hasRemaining() && bytes.read(buffer, rest - buffer.remaining()) > 0) {
                // until the block is whole
            }
            if (buffer.hasRemaining()) {
                break; // removed meanwhile
            }
            for (int at = buffer.limit() - 1; at >= 0; at--) {
                long behind = rest - buffer.limit() + at + 1;
                if (buffer.get(at) == '\n' && behind != ignored && ++found == newlines) {
                    return behind;
                }
            }
        }
        return bytes.firstKept(begin);
    }

    /**
     * Copies the bytes that were added since the last call.
     *
     * @param gaps receives the number of bytes that were removed before the next byte
     */
    void copyTo(OutputStream out, LongConsumer gaps) throws IOException {
        if (removed > 0) {
            gaps.accept(removed);
            removed = 0;
        }
        try (LogBytes bytes = new LogBytes(file)) {
            for (int count = bytes.read(buffer.clear(), position);
                    count != 0;
                    count = bytes.read(buffer.clear(), position)) {
                if (count == LogBytes.GONE) {
                    long kept = bytes.firstKept(position);
                    long gap = kept - position;
                    position = kept;
                    gaps.accept(gap);
                } else {
                    out.write(buffer.array(), 0, count);
                    position += count;
                }
            }
            out.flush();
        }
    }
}
