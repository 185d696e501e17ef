package io.jrun.comm.control;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** An immutable byte string with value equality, so that frames can be records. */
public final class Bytes {
    /** The empty byte string. */
    public static final Bytes EMPTY = new Bytes(new byte[0]);

    private final byte[] value;

    private Bytes(byte[] value) {
        this.value = value;
    }

    /** Returns a copy of {@code value}. */
    public static Bytes of(byte[] value) {
        return value.length == 0 ? EMPTY : new Bytes(value.clone());
    }

    /** Returns the UTF-8 bytes of {@code text}. */
    public static Bytes ofUtf8(String text) {
        return new Bytes(text.getBytes(StandardCharsets.UTF_8));
    }

    /** Returns a copy of the content. */
    public byte[] toArray() {
        return value.clone();
    }

    /** Length in bytes. */
    public int length() {
        return value.length;
    }

    /** Returns the content, decoded as UTF-8. */
    public String utf8() {
        return new String(value, StandardCharsets.UTF_8);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Bytes that && Arrays.equals(value, that.value);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(value);
    }

    /** Returns only the length, because the content may be secret. */
    @Override
    public String toString() {
        return "Bytes[" + value.length + "]";
    }
}
