package io.jrun.launcher.record;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * Reads the lines of a file that grows, each line once. A line without its newline waits for the rest: its writer may
 * be writing it, or may have been killed. A line of more than 16 MiB is cut. Confined to one thread.
 */
final class GrowingFile {
    private static final int BUFFER_BYTES = 1 << 16;

    /** The longest event, the loads of ten thousand workers, has about 1 MiB. */
    private static final int MOST_LINE_BYTES = 1 << 24;

    private final Path file;
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private long position;

    GrowingFile(Path file) {
        this.file = file;
    }

    /** Takes a line. */
    @FunctionalInterface
    interface LineReader {
        /**
         * Takes a line, without its newline.
         *
         * @throws IOException to end the reading; no later line is read
         */
        void read(String line) throws IOException;
    }

    /** Reads the bytes that were added since the last call. */
    void read(LineReader reader) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
        try (FileChannel channel = FileChannel.open(file)) {
            while (channel.read(buffer.clear(), position) > 0) {
                position += buffer.position();
                split(buffer.array(), buffer.position(), reader);
            }
        }
    }

    /** Skips the file but for its last {@code bytes}, and the line in which these begin. */
    void skipToLast(long bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            position = Math.max(0, channel.size() - bytes);
        }
    }

    private void split(byte[] bytes, int length, LineReader reader) throws IOException {
        int begin = 0;
        for (int at = 0; at < length; at++) {
            if (bytes[at] == '\n') {
                add(bytes, begin, at);
                String text = line.toString(StandardCharsets.UTF_8);
                line.reset();
                begin = at + 1;
                reader.read(text);
            }
        }
        add(bytes, begin, length);
    }

    private void add(byte[] bytes, int begin, int end) {
        line.write(bytes, begin, Math.min(end - begin, MOST_LINE_BYTES - line.size()));
    }
}
