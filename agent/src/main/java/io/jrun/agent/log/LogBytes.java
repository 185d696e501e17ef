package io.jrun.agent.log;

import io.jrun.comm.file.UserFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads one log by offsets in the whole output, from the files that a {@link LogLimit} has kept. The log may grow, and
 * change its files, at the same time, also in another process. Confined to one thread.
 */
public final class LogBytes implements AutoCloseable {
    /** The result of {@link #read} for bytes that were removed. */
    public static final int GONE = -1;

    private final Path log;
    private @Nullable FileChannel open;
    private long openStart;

    /** A file of the log. {@code isWritten}: not yet full. */
    private record Part(long start, boolean isWritten) {}

    /** @param log the path of the file that is written, which need not exist */
    public LogBytes(Path log) {
        this.log = log;
    }

    /** Whether the log has a file. The file that is written is missing for a moment when a file is full. */
    public static boolean exists(Path log) throws IOException {
        return Files.exists(log) || !LogFiles.starts(log).isEmpty();
    }

    /** The offset of the first byte at {@code offset} or behind it that was not removed. */
    public long firstKept(long offset) throws IOException {
        return Math.max(offset, part(offset).start());
    }

    /** The offset behind the last byte. */
    public long end() throws IOException {
        while (true) {
            Part last = part(Long.MAX_VALUE);
            if (openPart(last)) {
                return last.start() + (open == null ? 0 : open.size());
            }
        }
    }

    /**
     * Reads bytes from {@code offset} on.
     *
     * @return the number of bytes; 0 at the end of the log, or for a target without room; {@link #GONE} if the byte at
     *     {@code offset} was removed
     */
    public int read(ByteBuffer target, long offset) throws IOException {
        if (!target.hasRemaining()) {
            return 0;
        }
        int count = readOpen(target, offset);
        while (count <= 0) {
            Part part = part(offset);
            if (part.start() > offset) {
                return GONE;
            }
            if (openPart(part)) {
                count = readOpen(target, offset);
                if (count <= 0 && part.isWritten()) {
                    return 0;
                }
            }
        }
        return count;
    }

    private int readOpen(ByteBuffer target, long offset) throws IOException {
        return open == null || offset < openStart ? 0 : open.read(target, offset - openStart);
    }

    /** The file with the byte at {@code offset}, or the first file behind it. */
    private Part part(long offset) throws IOException {
        while (true) {
            List<Long> starts = LogFiles.starts(log);
            try {
                for (int i = starts.size() - 1; i >= 0; i--) {
                    long start = starts.get(i);
                    if (start <= offset || i == 0) {
                        long end = start + Files.size(LogFiles.full(log, start));
                        return offset < end
                                ? new Part(start, false)
                                : i + 1 < starts.size() ? new Part(starts.get(i + 1), false) : new Part(end, true);
                    }
                }
                return new Part(0, true);
            } catch (NoSuchFileException e) {
                // removed after it was listed: list again
            }
        }
    }

    /** Opens a file. Returns false if the file has another name now. */
    private boolean openPart(Part part) throws IOException {
        close();
        try {
            open = UserFile.open(part.isWritten() ? log : LogFiles.full(log, part.start()));
            openStart = part.start();
        } catch (NoSuchFileException e) {
            if (!part.isWritten()) {
                return false;
            }
            // no log yet, or the next file does not exist yet
        }
        if (part.isWritten() && !part.equals(part(Long.MAX_VALUE))) {
            close(); // a newer file was opened, which begins at another offset
            return false;
        }
        return true;
    }

    /** The bytes that are kept, as one stream from the oldest to the end of the log. */
    public static InputStream newInputStream(Path log) {
        return new KeptBytes(new LogBytes(log));
    }

    @Override
    public void close() throws IOException {
        if (open != null) {
            open.close();
            open = null;
        }
    }

    private static final class KeptBytes extends InputStream {
        private final LogBytes bytes;
        private long position;

        KeptBytes(LogBytes bytes) {
            this.bytes = bytes;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            int count = bytes.read(ByteBuffer.wrap(target, offset, length), position);
            while (count == GONE) {
                position = bytes.firstKept(position);
                count = bytes.read(ByteBuffer.wrap(target, offset, length), position);
            }
            position += count;
            return count == 0 && length > 0 ? -1 : count;
        }

        @Override
        public void close() throws IOException {
            bytes.close();
        }
    }
}
