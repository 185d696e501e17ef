package io.jrun.train.offload;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The states of one unit in a file, in two versions, and its gradients. A step reads one version and writes the other,
 * so the version before is whole whenever the process ends. Thread-safe for different versions.
 */
final class UnitFile implements AutoCloseable {
    private static final int VERSIONS = 2;
    private static final int LARGEST_TRANSFER = 16 << 20;

    private final Path file;
    private final FileChannel channel;
    private final long versionBytes;

    /** {@code versionBytes} are those of values and states together. */
    UnitFile(Path file, long versionBytes) {
        this.file = file;
        this.versionBytes = versionBytes;
        try {
            if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                UserFile.requireRegular(file);
            }
            channel = FileChannel.open(
                    file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
        } catch (IOException e) {
            throw failed("open", e);
        }
    }

    /** The position of the version of a step. */
    long version(long step) {
        return step % VERSIONS * versionBytes;
    }

    /** The position of the gradients. */
    long gradients() {
        return VERSIONS * versionBytes;
    }

    void read(long at, MemorySegment into) {
        try {
            for (long done = 0; done < into.byteSize(); ) {
                ByteBuffer part = part(into, done);
                int count = channel.read(part, at + done);
                if (count < 0) {
                    throw new EOFException("the file ends at byte " + (at + done));
                }
                done += count;
            }
        } catch (IOException e) {
            throw failed("read", e);
        }
    }

    void write(long at, MemorySegment from) {
        try {
            for (long done = 0; done < from.byteSize(); ) {
                done += channel.write(part(from, done), at + done);
            }
        } catch (IOException e) {
            throw failed("write", e);
        }
    }

    private static ByteBuffer part(MemorySegment segment, long from) {
        return segment.asSlice(from, Math.min(LARGEST_TRANSFER, segment.byteSize() - from))
                .asByteBuffer();
    }

    /** Returns when the written bytes are on the disk. */
    void force() {
        try {
            channel.force(false);
        } catch (IOException e) {
            throw failed("write", e);
        }
    }

    private OffloadException failed(String what, IOException e) {
        return new OffloadException(
                "cannot " + what + " the offloaded states in " + file + ": " + FileError.reason(e, file), e);
    }

    @Override
    public String toString() {
        return file.toString();
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw failed("close", e);
        }
    }
}
