package io.jrun.launcher.view;

import io.jrun.agent.log.LogBytes;
import io.jrun.agent.log.LogLimit;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.function.Consumer;

/**
 * Reads the lines of a growing log file from its last bytes on, each line once and a bounded amount in each call.
 * Confined to one thread.
 */
final class LogTail {
    private static final int BUFFER_BYTES = 1 << 16;

    /** The bytes of one call: a worker that prints without end must not hold up the others. */
    private static final int MOST_BYTES = 1 << 20;

    /** A longer line is cut. */
    private static final int MOST_LINE_BYTES = 4096;

    private final Path file;
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
    private long position = -1;
    private boolean skips;
    private boolean cut;

    LogTail(Path file) {
        this.file = file;
    }

    /**
     * Gives {@code lines} the new lines.
     *
     * @param firstBytes the bytes at the end of the file that the first call reads
     * @param last whether the file is complete: a line without its newline then counts
     */
    void read(long firstBytes, boolean last, Consumer<String> lines) throws IOException {
        if (position < 0 && !LogBytes.exists(file)) {
            return; // not yet, or on another host
        }
        try (LogBytes bytes = new LogBytes(file)) {
            if (position < 0) {
                begin(bytes, firstBytes, lines);
            }
            long end = position + MOST_BYTES;
            for (int count = bytes.read(buffer.clear(), position);
                    count != 0 && position < end;
                    count = bytes.read(buffer.clear(), position)) {
                if (count == LogBytes.GONE) {
                    skipRemoved(bytes, lines);
                } else {
                    position += count;
                    split(buffer.flip(), lines);
                }
            }
            if (last && line.size() > 0 && position >= bytes.end()) {
                emit(lines);
            }
        }
    }

    private void begin(LogBytes bytes, long firstBytes, Consumer<String> lines) throws IOException {
        long kept = bytes.firstKept(0);
        position = Math.max(kept, bytes.end() - firstBytes);
        skips = position > kept; // the line in which the last bytes begin
        if (position == kept && kept > 0) {
            lines.accept(LogLimit.notice(kept));
        }
    }

    private void skipRemoved(LogBytes bytes, Consumer<String> lines) throws IOException {
        long kept = bytes.firstKept(position);
        if (line.size() > 0) {
            emit(lines);
        }
        lines.accept(LogLimit.notice(kept - position));
        position = kept;
        skips = false;
    }

    private void split(ByteBuffer bytes, Consumer<String> lines) {
        while (bytes.hasRemaining()) {
            byte next = bytes.get();
            if (next == '\n') {
                emit(lines);
            } else if (line.size() < MOST_LINE_BYTES) {
                line.write(next);
            } else {
                cut = true;
            }
        }
    }

    private void emit(Consumer<String> lines) {
        if (!skips) {
            lines.accept(line.toString(StandardCharsets.UTF_8) + (cut ? " [cut]" : ""));
        }
        skips = false;
        cut = false;
        line.reset();
    }
}
