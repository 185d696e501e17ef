package io.jrun.comm;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;

/**
 * Encodes objects as bytes and decodes bytes to objects. Both methods run on the caller's thread. An exception of
 * {@link #encode} or {@link #decode} becomes a USAGE error that names the rank of the object.
 */
public interface Codec<T> {
    /** Strings in UTF-8. Half a surrogate pair and bytes that are not UTF-8 are errors. */
    Codec<String> STRING = new Codec<>() {
        @Override
        public byte[] encode(String value) {
            try {
                ByteBuffer encoded = UTF_8.newEncoder().encode(CharBuffer.wrap(value));
                byte[] bytes = new byte[encoded.remaining()];
                encoded.get(bytes);
                return bytes;
            } catch (CharacterCodingException e) {
                throw new IllegalArgumentException("a string with half a surrogate pair", e);
            }
        }

        @Override
        public String decode(byte[] bytes) {
            try {
                return UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
            } catch (CharacterCodingException e) {
                throw new IllegalArgumentException(bytes.length + " bytes that are not UTF-8", e);
            }
        }
    };

    /** Byte arrays without a change. */
    Codec<byte[]> BYTES = new Codec<>() {
        @Override
        public byte[] encode(byte[] value) {
            return value;
        }

        @Override
        public byte[] decode(byte[] bytes) {
            return bytes;
        }
    };

    /** Returns the bytes of {@code value}. The method does not change the value. */
    byte[] encode(T value);

    /**
     * Returns the value of bytes that {@link #encode} made. The decoder may keep the array.
     *
     * @throws RuntimeException if the bytes are not a valid encoding
     */
    T decode(byte[] bytes);
}
