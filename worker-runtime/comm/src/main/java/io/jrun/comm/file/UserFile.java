package io.jrun.comm.file;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Opens the files that a user names, and the files in folders that a user names. Opens regular files only: a pipe
 * without a writer would wait forever, and a device may have no end. {@link FileError#reason} gives the words for each
 * exception. Stateless.
 */
public final class UserFile {
    private static final String BYTE_ORDER_MARK = "\uFEFF";

    private UserFile() {}

    /**
     * Opens a regular file for reading.
     *
     * @throws java.nio.file.NoSuchFileException if there is nothing of this name
     * @throws IOException if the file cannot be read, or is no regular file
     */
    public static FileChannel open(Path file) throws IOException {
        requireRegular(file);
        return FileChannel.open(file, StandardOpenOption.READ);
    }

    /** Opens a regular file as a stream without a buffer. Throws like {@link #open}. */
    public static InputStream stream(Path file) throws IOException {
        return Channels.newInputStream(open(file));
    }

    /**
     * Reads a whole file. Throws like {@link #open}.
     *
     * @param mostBytes a larger file is an error
     */
    public static byte[] bytes(Path file, int mostBytes) throws IOException {
        try (InputStream in = stream(file)) {
            byte[] bytes = in.readNBytes(mostBytes);
            if (bytes.length == mostBytes && in.read() >= 0) {
                throw new FileSystemException(
                        file.toString(), null, "it has more than " + mostBytes + " bytes, the limit of such a file");
            }
            return bytes;
        }
    }

    /**
     * Reads a whole text file in UTF-8, without the byte order mark at its beginning. Throws like {@link #open}.
     *
     * @param mostBytes a larger file is an error
     */
    public static String text(Path file, int mostBytes) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(bytes(file, mostBytes));
        CharBuffer text = CharBuffer.allocate(bytes.remaining());
        CoderResult result = StandardCharsets.UTF_8.newDecoder().decode(bytes, text, true);
        text.flip();
        if (result.isError()) {
            long line = 1 + text.chars().filter(c -> c == '\n').count();
            throw new FileSystemException(file.toString(), null, "line " + line + " is not UTF-8 text");
        }
        return withoutByteOrderMark(text.toString());
    }

    /** The content of a text file without the byte order mark, which some editors write at the beginning. */
    public static String withoutByteOrderMark(String content) {
        return content.startsWith(BYTE_ORDER_MARK) ? content.substring(1) : content;
    }

    /**
     * Checks that a file is a regular file. For readers that open the file themselves, such as those of zip files.
     * Throws like {@link #open}.
     */
    public static void requireRegular(Path file) throws IOException {
        FileType type = FileType.of(file);
        if (type != FileType.REGULAR) {
            throw new FileSystemException(file.toString(), null, "it is " + type.words() + ", not a regular file");
        }
    }
}
