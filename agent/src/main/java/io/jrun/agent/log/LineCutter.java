package io.jrun.agent.log;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Reads a growing log file in pieces that end at the end of a line, or on request at a carriage return. A line longer
 * than {@value #MAX_LINE_BYTES} bytes comes in several pieces of that size. A last line without a newline gets a
 * newline. A line stands in place of bytes that a {@link LogLimit} has removed before they were read. Every byte is read
 * at most twice. Confined to one thread.
 */
final class LineCutter implements AutoCloseable {
    /** The size of a piece, large compared with the cost of a message. */
    static final int PIECE_BYTES = 1 << 16;

    /** The longest line that stays whole. Longer lines are no text, and memory must be bounded. */
    static final int MAX_LINE_BYTES = 1 << 20;

    private final LogFile file;
    private final LogBytes bytes;
    private final boolean atReturns;
    private long position; // first byte not yet given out
    private long scanned; // no end of a line between position and here
    private boolean midLine;

    LineCutter(LogFile file, boolean atReturns) {
        this.file = file;
        this.atReturns = atReturns;
        this.bytes = new LogBytes(file.path());
    }

    /**
     * Returns the next piece, or empty if no line is complete yet. After {@link LogFile#isEnded}, empty means the end.
     */
    Optional<ByteString> next() throws IOException {
        boolean ended = file.isEnded(); // read before the size, because the size is final if this is true
        long size = file.size();
        while (scanned < size && scanned - position < MAX_LINE_BYTES) {
            byte[] window = read(scanned, (int) Math.min(PIECE_BYTES, size - scanned));
            if (window == null) {
                return Optional.of(skipRemoved());
            }
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
            boolean removed = bytes.firstKept(position) > position;
            ByteString piece = give(size, false);
            return Optional.of(removed ? piece : piece.concat(ByteString.copyFromUtf8("\n")));
        }
        return Optional.empty();
    }

    private ByteString give(long end, boolean inMidLine) throws IOException {
        byte[] piece = read(position, Math.toIntExact(end - position));
        if (piece == null) {
            return skipRemoved();
        }
        position = end;
        scanned = end;
        midLine = inMidLine;
        return ByteString.copyFrom(piece);
    }

    /** Goes on with the first byte that was not removed. Returns the line that says so. */
    private ByteString skipRemoved() throws IOException {
        long kept = bytes.firstKept(position);
        String notice = (midLine ? "\n" : "") + LogLimit.notice(kept - position) + "\n";
        position = kept;
        scanned = kept;
        midLine = false;
        return ByteString.copyFromUtf8(notice);
    }

    /** Returns null if some of the bytes were removed. */
    private byte @Nullable [] read(long from, int length) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(length);
        while (buffer.hasRemaining()) {
            int count = bytes.read(buffer, from + buffer.position());
            if (count == LogBytes.GONE) {
                return null;
            }
            if (count == 0) {
                throw new IOException(file.path() + " was shortened by another process: byte "
                        + (from + buffer.position()) + " of " + file.size() + " is gone");
            }
        }
        return buffer.array();
    }

    private int lastEnd(byte[] window) {
        for (int i = window.length - 1; i >= 0; i--) {
            if (window[i] == '\n' || (atReturns && window[i] == '\r')) {
                return i;
            }
        }
        return -1;
    }

    @Override
    public void close() {
        try {
            bytes.close();
        } catch (IOException e) {
            // The file was open only for reading, so no data is lost.
        }
    }
}
