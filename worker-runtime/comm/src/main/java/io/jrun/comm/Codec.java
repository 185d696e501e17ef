package io.jrun.comm;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;

/**
 * How objects become bytes and back. Called on the caller's thread. What {@link #encode} or {@link #decode} throws
 * becomes a USAGE error that names the rank whose object it was.
 */
public interface Codec<T> {
    /** Strings in UTF-8; bytes that are no UTF-8 are an error. */
    Codec<String> STRING = new Codec<>() {
        @Override
        public byte[] encode(String value) {
            return value.getBytes(UTF_8);
        }

        @Override
        public String decode(byte[] bytes) {
            try {
                return UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
            } catch (CharacterCodingException e) {
                throw new IllegalArgumentException(bytes.length + " bytes that are no UTF-8", e);
            }
        }
    };

    /** Bytes as they are. */
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

    /** The bytes of {@code value}, which is not changed. */
    byte[] encode(T value);

    /**
     * The value of bytes that {@link #encode} has made; they are the decoder's to keep.
     *
     * @throws RuntimeException if they mean nothing
     */
    T decode(byte[] bytes);
}
