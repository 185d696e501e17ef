package io.jrun.train.token;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.zip.CRC32C;

/**
 * The first 64 bytes of a token file, little-endian. The tokens follow.
 *
 * <pre>
 *  0  8 bytes  "JRUNTOKS"
 *  8  u32      version, 1
 * 12  u32      bytes of a token: 2 (u16) or 4 (u32)
 * 16  u64      number of tokens
 * 24  u64      size of the vocabulary; each token is below it
 * 32  u32      CRC-32C of the tokens
 * 36  u32      0
 * 40  16 bytes id of the tokenizer
 * 56  u32      0
 * 60  u32      CRC-32C of the bytes 0 to 59
 * </pre>
 *
 * @param tokenBytes 2 or 4
 * @param checksum of the tokens
 * @param tokenizer 32 hexadecimal digits
 */
record TokenFileHeader(int tokenBytes, long tokens, long vocabulary, int checksum, String tokenizer) {
    static final int SIZE = 64;
    private static final byte[] MAGIC = {'J', 'R', 'U', 'N', 'T', 'O', 'K', 'S'};
    private static final int VERSION = 1;
    private static final int ID_POSITION = 40;
    private static final int CHECKSUM_POSITION = 60;
    private static final long LARGEST_VOCABULARY = 1L << 31;

    /** Two bytes hold each token of a vocabulary of up to 65,536. */
    static int tokenBytes(long vocabulary) {
        return vocabulary <= 1 << 16 ? 2 : 4;
    }

    ByteBuffer toBytes() {
        ByteBuffer bytes = ByteBuffer.allocate(SIZE).order(ByteOrder.LITTLE_ENDIAN);
        bytes.put(MAGIC).putInt(VERSION).putInt(tokenBytes).putLong(tokens).putLong(vocabulary);
        bytes.putInt(checksum).putInt(0).put(HexFormat.of().parseHex(tokenizer)).putInt(0);
        return bytes.putInt(crc(bytes.array())).flip();
    }

    /**
     * Reads and checks a header.
     *
     * @param fileBytes the length of the whole file
     * @throws IllegalArgumentException in one line that says which rule the file breaks
     */
    static TokenFileHeader parse(byte[] header, long fileBytes) {
        if (header.length < SIZE || !Arrays.equals(header, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
            throw new IllegalArgumentException("it does not begin with the 64 bytes of a header");
        }
        ByteBuffer bytes =
                ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN).position(MAGIC.length);
        int version = bytes.getInt();
        if (version != VERSION) {
            throw new IllegalArgumentException("it has version " + version + ", expected " + VERSION);
        }
        if (bytes.getInt(CHECKSUM_POSITION) != crc(header)) {
            throw new IllegalArgumentException("the checksum of the header is wrong: the header is damaged");
        }
        int tokenBytes = bytes.getInt();
        long tokens = bytes.getLong();
        long vocabulary = bytes.getLong();
        int checksum = bytes.getInt();
        if (tokenBytes != 2 && tokenBytes != 4) {
            throw new IllegalArgumentException("a token has " + tokenBytes + " bytes, expected 2 or 4");
        }
        if (vocabulary < 1 || vocabulary > LARGEST_VOCABULARY) {
            throw new IllegalArgumentException(
                    "the vocabulary has " + vocabulary + " tokens, expected 1 to " + LARGEST_VOCABULARY);
        }
        long places = (fileBytes - SIZE) / tokenBytes;
        if (tokens != places || (fileBytes - SIZE) % tokenBytes != 0) {
            throw new IllegalArgumentException("the header says " + tokens + " tokens of " + tokenBytes + " bytes, but "
                    + (fileBytes - SIZE) + " bytes follow it. The file is not complete");
        }
        String tokenizer = HexFormat.of().formatHex(header, ID_POSITION, ID_POSITION + TokenizerId.BYTES);
        return new TokenFileHeader(tokenBytes, tokens, vocabulary, checksum, tokenizer);
    }

    private static int crc(byte[] header) {
        CRC32C crc = new CRC32C();
        crc.update(header, 0, CHECKSUM_POSITION);
        return (int) crc.getValue();
    }
}
