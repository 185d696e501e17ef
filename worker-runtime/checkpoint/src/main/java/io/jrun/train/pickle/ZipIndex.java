package io.jrun.train.pickle;

import io.jrun.train.storage.FileObjectReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The positions of the entries of a zip file. {@code java.util.zip} does not give the positions of entries. Source:
 * PKWARE APPNOTE 6.3.10, 4.3 and 4.5.3.
 */
final class ZipIndex {
    private static final int END_BYTES = 22;
    private static final int END_SIGNATURE = 0x06054b50;
    private static final int MAX_COMMENT_BYTES = 0xffff;
    private static final int END64_LOCATOR_BYTES = 20;
    private static final int END64_LOCATOR_SIGNATURE = 0x07064b50;
    private static final int END64_BYTES = 56;
    private static final int END64_SIGNATURE = 0x06064b50;
    private static final int DIRECTORY_SIGNATURE = 0x02014b50;
    private static final int DIRECTORY_BYTES = 46;
    private static final int LOCAL_SIGNATURE = 0x04034b50;
    private static final int LOCAL_BYTES = 30;
    private static final int ZIP64_EXTRA = 1;
    private static final long IN_ZIP64 = 0xffffffffL;
    private static final int MAX_DIRECTORY_BYTES = 1 << 28;

    private final FileChannel channel;
    private final long fileBytes;
    private final Map<String, Entry> entries = new LinkedHashMap<>();

    /**
     * The bytes of an entry in the file.
     *
     * @param isStored false if the bytes are compressed
     */
    record Entry(long position, long bytes, boolean isStored) {}

    private ZipIndex(FileChannel channel) throws IOException {
        this.channel = channel;
        this.fileBytes = channel.size();
    }

    /**
     * Reads the directory of a file.
     *
     * @throws IllegalArgumentException if the file is not a zip file, or if an entry exceeds the file
     */
    static Map<String, Entry> read(FileChannel channel) throws IOException {
        ZipIndex index = new ZipIndex(channel);
        index.readDirectory();
        return index.entries;
    }

    private void readDirectory() throws IOException {
        int tailBytes = (int) Math.min(fileBytes, END_BYTES + MAX_COMMENT_BYTES);
        ByteBuffer tail = bytes(fileBytes - tailBytes, tailBytes);
        int end = tailBytes - END_BYTES;
        while (end >= 0 && tail.getInt(end) != END_SIGNATURE) {
            end--;
        }
        if (end < 0) {
            throw new IllegalArgumentException(
                    "the file has no end record of a zip file; the file is truncated or of another format");
        }
        long count = Short.toUnsignedLong(tail.getShort(end + 10));
        long size = Integer.toUnsignedLong(tail.getInt(end + 12));
        long position = Integer.toUnsignedLong(tail.getInt(end + 16));
        long locator = fileBytes - tailBytes + end - END64_LOCATOR_BYTES;
        if (locator >= 0) {
            ByteBuffer found = bytes(locator, END64_LOCATOR_BYTES);
            if (found.getInt(0) == END64_LOCATOR_SIGNATURE) {
                ByteBuffer end64 = bytes(found.getLong(8), END64_BYTES);
                require(end64.getInt(0) == END64_SIGNATURE, "the zip64 end record has a wrong signature");
                count = end64.getLong(32);
                size = end64.getLong(40);
                position = end64.getLong(48);
            }
        }
        require(size >= 0 && size <= MAX_DIRECTORY_BYTES, "the zip directory claims " + size + " bytes");
        ByteBuffer directory = bytes(position, (int) size);
        for (long i = 0; i < count; i++) {
            readEntry(directory);
        }
    }

    private void readEntry(ByteBuffer directory) throws IOException {
        int at = directory.position();
        require(
                directory.remaining() >= DIRECTORY_BYTES && directory.getInt(at) == DIRECTORY_SIGNATURE,
                "the zip directory ends early");
        int flags = directory.getShort(at + 8);
        int method = Short.toUnsignedInt(directory.getShort(at + 10));
        long compressed = Integer.toUnsignedLong(directory.getInt(at + 20));
        long size = Integer.toUnsignedLong(directory.getInt(at + 24));
        int nameBytes = Short.toUnsignedInt(directory.getShort(at + 28));
        int extraBytes = Short.toUnsignedInt(directory.getShort(at + 30));
        int commentBytes = Short.toUnsignedInt(directory.getShort(at + 32));
        long local = Integer.toUnsignedLong(directory.getInt(at + 42));
        int length = DIRECTORY_BYTES + nameBytes + extraBytes + commentBytes;
        require(directory.remaining() >= length, "the zip directory ends early");
        byte[] nameText = new byte[nameBytes];
        directory.get(at + DIRECTORY_BYTES, nameText);
        String name = new String(nameText, StandardCharsets.UTF_8);
        ByteBuffer extra =
                directory.slice(at + DIRECTORY_BYTES + nameBytes, extraBytes).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer wide = zip64(extra);
        size = size == IN_ZIP64 ? next(wide, name) : size;
        compressed = compressed == IN_ZIP64 ? next(wide, name) : compressed;
        local = local == IN_ZIP64 ? next(wide, name) : local;
        require((flags & 1) == 0, "the entry '" + name + "' is encrypted");
        boolean isStored = method == 0 && compressed == size;
        require(
                entries.put(name, new Entry(locate(name, local, compressed), compressed, isStored)) == null,
                "the entry '" + name + "' occurs twice");
        directory.position(at + length);
    }

    private long locate(String name, long local, long size) throws IOException {
        ByteBuffer header = bytes(local, LOCAL_BYTES);
        require(header.getInt(0) == LOCAL_SIGNATURE, "the entry '" + name + "' has no header at byte " + local);
        long data = local
                + LOCAL_BYTES
                + Short.toUnsignedInt(header.getShort(26))
                + Short.toUnsignedInt(header.getShort(28));
        require(
                size >= 0 && data <= fileBytes && size <= fileBytes - data,
                "the entry '" + name + "' has " + size + " bytes at byte " + data + ", but the file has " + fileBytes);
        return data;
    }

    private static ByteBuffer zip64(ByteBuffer extra) {
        while (extra.remaining() >= 4) {
            int kind = Short.toUnsignedInt(extra.getShort());
            int length = Short.toUnsignedInt(extra.getShort());
            if (length > extra.remaining()) {
                break;
            }
            if (kind == ZIP64_EXTRA) {
                return extra.slice(extra.position(), length).order(ByteOrder.LITTLE_ENDIAN);
            }
            extra.position(extra.position() + length);
        }
        return ByteBuffer.allocate(0);
    }

    private static long next(ByteBuffer wide, String name) {
        require(wide.remaining() >= Long.BYTES, "the entry '" + name + "' lacks its zip64 sizes");
        return wide.getLong();
    }

    private ByteBuffer bytes(long position, int count) throws IOException {
        require(
                position >= 0 && position <= fileBytes - count,
                "the zip directory points to byte " + position + ", but the file has " + fileBytes);
        ByteBuffer bytes = ByteBuffer.allocate(count).order(ByteOrder.LITTLE_ENDIAN);
        FileObjectReader.readFully(channel, position, bytes);
        return bytes.flip();
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
