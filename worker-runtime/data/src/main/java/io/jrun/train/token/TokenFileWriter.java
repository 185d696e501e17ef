package io.jrun.train.token;

import io.jrun.comm.file.OutputFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.UUID;
import java.util.zip.CRC32C;

/**
 * Writes a token file. The file appears under its name only by {@link #commit}, complete and on disk. A writer that is
 * closed before leaves nothing. Not thread-safe.
 */
public final class TokenFileWriter implements AutoCloseable {
    private static final int BUFFER_BYTES = 1 << 20;

    private final Path target;
    private final Path temporary;
    private final FileChannel channel;
    private final Tokenizer tokenizer;
    private final int tokenBytes;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    private final CRC32C crc = new CRC32C();
    private long tokens;
    private long position = TokenFileHeader.SIZE;

    private TokenFileWriter(Path target, Path temporary, FileChannel channel, Tokenizer tokenizer) {
        this.target = target;
        this.temporary = temporary;
        this.channel = channel;
        this.tokenizer = tokenizer;
        this.tokenBytes = TokenFileHeader.tokenBytes(tokenizer.vocabulary());
    }

    /**
     * Begins a file; the folder is created. An earlier file of this name stays until {@link #commit}. A link
     * stays, and its target is replaced.
     *
     * @throws IOException also if {@code target} is a folder, a pipe or a device
     */
    public static TokenFileWriter create(Path target, Tokenizer tokenizer) throws IOException {
        Path absolute = OutputFile.resolve(target);
        Path folder = absolute.getParent();
        if (folder == null) {
            throw new IOException(target + " is not a file name");
        }
        OutputFile.makeFolder(folder);
        // A random name: processes of several hosts may share the folder and have the same process id.
        Path temporary = folder.resolve("." + absolute.getFileName() + "." + UUID.randomUUID() + ".tmp");
        FileChannel channel = FileChannel.open(temporary, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        return new TokenFileWriter(absolute, temporary, channel, tokenizer);
    }

    /** The number of tokens so far. */
    public long tokens() {
        return tokens;
    }

    /**
     * Appends tokens.
     *
     * @throws IllegalArgumentException if a token is not in the vocabulary
     */
    public void add(int... more) throws IOException {
        for (int token : more) {
            if (token < 0 || token >= tokenizer.vocabulary()) {
                throw new IllegalArgumentException("the tokenizer gave token " + token + ", but its vocabulary has "
                        + tokenizer.vocabulary() + " tokens");
            }
            if (buffer.remaining() < tokenBytes) {
                flush();
            }
            if (tokenBytes == 2) {
                buffer.putShort((short) token);
            } else {
                buffer.putInt(token);
            }
            tokens++;
        }
    }

    /** Writes the header, makes the file durable, and gives the file its name. */
    public void commit() throws IOException {
        flush();
        TokenFileHeader header =
                new TokenFileHeader(tokenBytes, tokens, tokenizer.vocabulary(), (int) crc.getValue(), tokenizer.id());
        long _ = write(header.toBytes(), 0);
        channel.force(true);
        channel.close();
        Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        try (FileChannel folder = FileChannel.open(target.resolveSibling(""), StandardOpenOption.READ)) {
            folder.force(true);
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
        Files.deleteIfExists(temporary);
    }

    private void flush() throws IOException {
        buffer.flip();
        crc.update(buffer.duplicate());
        position = write(buffer, position);
        buffer.clear();
    }

    /** Returns the position behind the bytes. */
    private long write(ByteBuffer bytes, long begin) throws IOException {
        long at = begin;
        while (bytes.hasRemaining()) {
            at += channel.write(bytes, at);
        }
        return at;
    }
}
