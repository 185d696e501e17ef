package io.jrun.train.token;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.UserFile;
import io.jrun.train.data.DataException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.util.zip.CRC32C;

/** A mapped file of tokens. Processes of a node that map the same file share its pages. Thread-safe. */
public final class TokenFile implements AutoCloseable {
    /** Ends the names of token files. */
    public static final String SUFFIX = ".tokens";

    private static final ValueLayout.OfShort U16 = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt U32 = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int CHECK_TOKENS = 1 << 16;
    private static final int VERIFY_BYTES = 1 << 20;

    private final Path path;
    private final TokenFileHeader header;
    private final Arena arena;
    private final MemorySegment tokens;

    private TokenFile(Path path, TokenFileHeader header, Arena arena, MemorySegment tokens) {
        this.path = path;
        this.header = header;
        this.arena = arena;
        this.tokens = tokens;
    }

    /**
     * Maps a file.
     *
     * @throws DataException in one line, if the file cannot be read or is no token file
     */
    public static TokenFile open(Path path) {
        Arena arena = Arena.ofShared();
        try (FileChannel channel = UserFile.open(path)) {
            long fileBytes = channel.size();
            ByteBuffer begin = ByteBuffer.allocate((int) Math.min(TokenFileHeader.SIZE, fileBytes));
            int read;
            do {
                read = channel.read(begin);
            } while (begin.hasRemaining() && read >= 0);
            TokenFileHeader header = TokenFileHeader.parse(begin.array(), fileBytes);
            MemorySegment tokens =
                    channel.map(MapMode.READ_ONLY, TokenFileHeader.SIZE, fileBytes - TokenFileHeader.SIZE, arena);
            return new TokenFile(path, header, arena, tokens);
        } catch (IOException e) {
            arena.close();
            throw new DataException("cannot read " + path + ": " + FileError.reason(e, path), e);
        } catch (IllegalArgumentException e) {
            arena.close();
            throw new DataException(
                    path + " is not a valid token file: " + e.getMessage() + ". Write the file again from the text.",
                    e);
        }
    }

    /** The file. */
    public Path path() {
        return path;
    }

    /** The number of tokens. */
    public long size() {
        return header.tokens();
    }

    /** The CRC32C of the tokens, as the header says. {@link #verify} compares the tokens. */
    public int checksum() {
        return header.checksum();
    }

    /** Each token is below this number. */
    public long vocabulary() {
        return header.vocabulary();
    }

    /** The {@link Tokenizer#id()} of the tokenizer that made the file. */
    public String tokenizerId() {
        return header.tokenizer();
    }

    /**
     * Copies tokens.
     *
     * @throws IOException if the file has become shorter, or has a token beyond its vocabulary
     */
    public long[] read(long first, int count) throws IOException {
        long[] copy = new long[count];
        try {
            for (int i = 0; i < count; i++) {
                copy[i] = header.tokenBytes() == 2
                        ? Short.toUnsignedLong(tokens.get(U16, (first + i) * 2))
                        : Integer.toUnsignedLong(tokens.get(U32, (first + i) * 4));
                if (copy[i] >= header.vocabulary()) {
                    throw new IOException("token " + (first + i) + " is " + copy[i] + ", but the vocabulary has "
                            + header.vocabulary() + " tokens. The file is damaged");
                }
            }
        } catch (InternalError e) {
            throw new IOException("the file became shorter while it was read, or its storage failed", e);
        }
        return copy;
    }

    /**
     * Checks that tokens are below the vocabulary. Reads all of them.
     *
     * @throws DataException in one line with the first token that is not
     */
    public void requireInVocabulary(long first, long count) {
        try {
            for (long at = first; at < first + count; at += CHECK_TOKENS) {
                long[] _ = read(at, (int) Math.min(CHECK_TOKENS, first + count - at));
            }
        } catch (IOException e) {
            throw new DataException(path + ": " + e.getMessage() + ". Write the file again from the text.", e);
        }
    }

    /**
     * Compares all tokens with the checksum of the header. Reads the whole file.
     *
     * @throws DataException if a byte has changed since the file was written
     */
    public void verify() {
        CRC32C crc = new CRC32C();
        for (long at = 0; at < tokens.byteSize(); at += VERIFY_BYTES) {
            crc.update(tokens.asSlice(at, Math.min(VERIFY_BYTES, tokens.byteSize() - at))
                    .asByteBuffer());
        }
        if ((int) crc.getValue() != header.checksum()) {
            throw new DataException(
                    path + " is damaged: the checksum of its tokens is wrong. Write the file again from the text.");
        }
    }

    /** Ends the mapping. */
    @Override
    public void close() {
        arena.close();
    }
}
