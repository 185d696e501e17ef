package io.jrun.agent.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * One stream of one worker, as raw bytes on disk, with its {@link LogTimes} beside it. With a {@link LogLimit} the
 * bytes lie in several files, see {@link LogFiles}. One pump thread writes. Any thread may call {@link #size}, which
 * only grows, and {@link #isEnded}, which changes once.
 */
public final class LogFile implements AutoCloseable {
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private final Path path;
    private final Optional<LogLimit> limit;
    private final LogTimes.TimesWriter times;
    private final Runnable onChange;
    private final TreeSet<Long> fullStarts = new TreeSet<>();
    private FileChannel channel;
    private long start; // offset of the first byte of the file that is written
    private boolean midLine;
    private volatile long size;
    private volatile boolean ended;

    /**
     * Creates or empties the file, and removes full files of an earlier log. Only its user can read the files.
     *
     * @param limit the most that is kept; empty for everything
     * @param onChange called after every write and at the end, on the writing thread; must not block
     */
    public LogFile(Path path, Optional<LogLimit> limit, Runnable onChange) throws IOException {
        this.path = path;
        this.limit = limit;
        this.onChange = onChange;
        for (long stale : LogFiles.starts(path)) {
            Files.deleteIfExists(LogFiles.full(path, stale));
        }
        this.times = new LogTimes.TimesWriter(path);
        this.channel = open(path);
    }

    private static FileChannel open(Path path) throws IOException {
        return FileChannel.open(
                path,
                Set.of(StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE),
                OWNER_ONLY);
    }

    /** Appends bytes. Bytes after the end of the stream are dropped. */
    public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
        if (ended || length == 0) {
            return;
        }
        int end = offset + length;
        for (int from = offset; from < end; ) {
            int count = limit.isPresent() ? fitting(limit.get(), bytes, from, end) : end - from;
            if (count == 0) {
                beginFile(limit.orElseThrow());
            } else {
                append(bytes, from, count);
                from += count;
            }
        }
        onChange.run();
    }

    private synchronized void append(byte[] bytes, int from, int count) throws IOException {
        times.note(size);
        ByteBuffer buffer = ByteBuffer.wrap(bytes, from, count);
        while (buffer.hasRemaining()) {
            size += channel.write(buffer);
        }
        midLine = bytes[from + count - 1] != '\n';
    }

    /**
     * The number of bytes that go to the current file: whole lines, or a part of a line that does not fit or that
     * has begun in this file.
     */
    private int fitting(LogLimit most, byte[] bytes, int from, int end) {
        int room = (int) Math.min(Integer.MAX_VALUE, most.fileBytes() - (size - start));
        if (end - from <= room) {
            return end - from;
        }
        for (int at = from + room - 1; at >= from; at--) {
            if (bytes[at] == '\n') {
                return at + 1 - from;
            }
        }
        return midLine || size == start ? room : 0;
    }

    /**
     * The full file gets its name, and only then the oldest file goes: a kill between two steps loses no byte. If
     * somebody has removed or renamed the full file, an empty file tells readers where the next file begins. The next
     * file takes its name when it is full.
     */
    private void beginFile(LogLimit most) throws IOException {
        channel.close();
        try {
            Files.move(path, LogFiles.full(path, start), StandardCopyOption.ATOMIC_MOVE);
            fullStarts.add(start);
        } catch (NoSuchFileException e) {
            open(LogFiles.full(path, size)).close();
            fullStarts.add(size);
        }
        while (fullStarts.size() >= most.files()) {
            Files.deleteIfExists(LogFiles.full(path, fullStarts.removeFirst()));
            times.dropBefore(fullStarts.getFirst());
        }
        start = size;
        channel = open(path);
    }

    /** The path of the file that is written. */
    public Path path() {
        return path;
    }

    /** The number of bytes written so far. */
    public long size() {
        return size;
    }

    /** Whether the size is final. */
    public boolean isEnded() {
        return ended;
    }

    /** Ends the stream. */
    @Override
    public synchronized void close() {
        if (ended) {
            return;
        }
        ended = true;
        try {
            channel.close();
            times.close();
        } catch (IOException e) {
            // The kernel already has every byte, so a failed close loses no data.
        }
        onChange.run();
    }
}
