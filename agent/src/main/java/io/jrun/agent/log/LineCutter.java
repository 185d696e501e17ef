package io.jrun.agent.log;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/**
 * Reads a growing log file in pieces that end at the end of a line, or on request at a carriage return. A line longer
 * than {@value #MAX_LINE_BYTES} bytes comes in several pieces of that size. A last line without a newline gets a
 * newline. Every byte is read at most twice. Confined to one thread.
 */
final class LineCutter implements AutoCloseable {
    /** The size of a piece, large compared with the cost of a message. */
    static final int PIECE_BYTES = 1 << 16;

    /** The longest line that stays whole. Longer lines are no text, and memory must be bounded. */
    static final int MAX_LINE_BYTES = 1 << 20;

    private final LogFile file;
    private final FileChannel channel;
    private final boolean atReturns;
    private long position; // first byte not yet given out
    private long scanned; // no end of a line between position and here
    private boolean midLine;

    LineCutter(LogFile file, boolean atReturns) throws IOException {
        this.file = file;
        this.atReturns = atReturns;
        this.channel = FileChannel.open(file.path(), StandardOpenOption.READ);
    }

    /**
     * Returns the next piece, or empty if no line is complete yet. After {@link LogFile#isEnded}, empty means the end.
     */
    Optional<ByteString> next() throws IOException {
        boolean ended = file.isEnded(); // read before the size, because the size is final if this is true
        long size = file.size();
        while (scanned < size && scanned - position < MAX_LINE_BYTES) {
            byte[] window = read(scanned, (int) Math.min(PIECE_BYTES, size - scanned));
            int end = lastEnd(window);
            if (end >= 0) {
                return Optional.of(give(scanned + end + 1, false));
            }
            scanned += window.length;
        }
        if (scanned - position >= MAX_LINE_BYTES) {
            return Optional.of(give(position + MAX_LINE_BYTES, true));
        }
        if (ended && (position < size || midLine)) {
            return Optional.of(give(size, false).concat(ByteString.copyFromUtf8("\n")));
        }
        return Optional.empty();
    }

    private ByteString give(long end, boolean inMidLine) throws IOException {
        ByteString piece = ByteString.copyFrom(read(position, Math.toIntExact(end - position)));
        position = end;
        scanned = end;
        midLine = inMidLine;
        return piece;
    }

    private byte[] read(long from, int length) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(length);
        while (buffer.hasRemaining()) {
            if (channel.read(buffer, from + buffer.position()) < 0) {
                throw new IOException(file.path() + " was shortened by another process: byte "
                        + (from + buffer.position()) + " of " + file.size() + " is gone");
            }
        }
        return buffer.array();
    }

    private int lastEnd(byte[] bytes) {
        for (int i = bytes.length - 1; i >= 0; i--) {
            if (bytes[i] == '\n' || (atReturns && bytes[i] == '\r')) {
                return i;
            }
        }
        return -1;
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            // The channel was open only for reading, so no data is lost.
        }
    }
}
