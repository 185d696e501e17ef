package io.jrun.agent.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * One stream of one worker, as raw bytes on disk, with its {@link LogTimes} beside it. One pump thread writes. Any thread may call {@link #size}, which only
 * grows, and {@link #isEnded}, which changes once.
 */
public final class LogFile implements AutoCloseable {
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private final Path path;
    private final FileChannel channel;
    private final LogTimes.TimesWriter times;
    private final Runnable onChange;
    private volatile long size;
    private volatile boolean ended;

    /**
     * Creates or empties the file. Only its user can read the file.
     *
     * @param onChange called after every write and at the end, on the writing thread; must not block
     */
    public LogFile(Path path, Runnable onChange) throws IOException {
        this.path = path;
        this.onChange = onChange;
        this.times = new LogTimes.TimesWriter(path);
        this.channel = FileChannel.open(
                path,
                Set.of(StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE),
                OWNER_ONLY);
    }

    /** Appends bytes. Bytes after the end of the stream are dropped. */
    public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
        if (ended || length == 0) {
            return;
        }
        times.note(size);
        ByteBuffer buffer = ByteBuffer.wrap(bytes, offset, length);
        while (buffer.hasRemaining()) {
            size += channel.write(buffer);
        }
        onChange.run();
    }

    /** The path of the file. */
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
