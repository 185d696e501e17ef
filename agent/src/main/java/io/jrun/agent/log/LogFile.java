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
 * One stream of one worker, as raw bytes on disk. Written by one pump thread; {@link #size} and {@link #isEnded} may be
 * read from any thread and only ever grow.
 */
public final class LogFile implements AutoCloseable {
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private final Path path;
    private final FileChannel channel;
    private final Runnable onChange;
    private volatile long size;
    private volatile boolean ended;

    /**
     * Creates or empties the file, which is its user's alone.
     *
     * @param onChange called after every write and at the end, on the writing thread; must not block
     */
    public LogFile(Path path, Runnable onChange) throws IOException {
        this.path = path;
        this.onChange = onChange;
        this.channel = FileChannel.open(
                path,
                Set.of(StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE),
                OWNER_ONLY);
    }

    /** Appends bytes; those after the end are dropped. */
    public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
        if (ended || length == 0) {
            return;
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes, offset, length);
        while (buffer.hasRemaining()) {
            size += channel.write(buffer);
        }
        onChange.run();
    }

    /** Where it is. */
    public Path path() {
        return path;
    }

    /** Bytes written so far. */
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
        } catch (IOException e) {
            // Every byte has been handed to the kernel by write; there is nothing left that close could lose.
        }
        onChange.run();
    }
}
