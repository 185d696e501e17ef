package io.jrun.launcher.record;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A file of a record, readable by its user alone: the header, then a line for each event. Confined to one thread. */
final class RecordOutput implements AutoCloseable {
    private static final FileAttribute<?> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private final Path file;
    private final StringBuilder lines = new StringBuilder();
    private @Nullable SeekableByteChannel channel;

    private RecordOutput(Path file) {
        this.file = file;
    }

    /** Removes a file of an earlier job. The first line makes the new file. */
    static RecordOutput at(Path file) throws IOException {
        Files.deleteIfExists(file);
        return new RecordOutput(file);
    }

    private static SeekableByteChannel open(Path file) throws IOException {
        return Files.newByteChannel(
                file,
                Set.of(StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE),
                OWNER_ONLY);
    }

    /** Adds a line, which {@link #flush} writes. */
    void add(String line) throws IOException {
        if (channel == null) {
            channel = open(file);
            lines.append(RecordSchema.header()).append('\n');
        }
        lines.append(line).append('\n');
    }

    /** Writes the lines; returns the number of bytes. */
    long flush() throws IOException {
        SeekableByteChannel out = channel;
        if (out == null) {
            return 0;
        }
        ByteBuffer text = StandardCharsets.UTF_8.encode(lines.toString());
        lines.setLength(0);
        long bytes = text.remaining();
        while (text.hasRemaining()) {
            out.write(text);
        }
        return bytes;
    }

    @Override
    public void close() throws IOException {
        if (channel != null) {
            channel.close();
        }
    }
}
