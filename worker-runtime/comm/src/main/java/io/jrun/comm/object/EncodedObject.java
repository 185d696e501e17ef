package io.jrun.comm.object;

import io.jrun.comm.Codec;
import org.jspecify.annotations.Nullable;

/** The result of encoding an object: the bytes, or a failure. */
public final class EncodedObject {
    /** Stands for an object of another rank. */
    static final EncodedObject NOTHING = new EncodedObject(new byte[0], null);

    /** In place of the size of an object whose encoding failed. */
    static final long FAILED = -1;

    private final byte[] bytes;
    private final @Nullable Throwable failure;

    private EncodedObject(byte[] bytes, @Nullable Throwable failure) {
        this.bytes = bytes;
        this.failure = failure;
    }

    /** Encodes {@code value}. Never throws: a failure of the codec is reported to all ranks. */
    public static <T> EncodedObject of(@Nullable T value, Codec<T> codec) {
        if (value == null) {
            return failed(new IllegalArgumentException("the value is null"));
        }
        try {
            return of(codec.encode(value));
        } catch (RuntimeException | Error e) {
            return failed(e);
        }
    }

    private static EncodedObject of(byte @Nullable [] bytes) {
        return bytes == null
                ? failed(new IllegalArgumentException("the codec has returned null"))
                : new EncodedObject(bytes, null);
    }

    static EncodedObject failed(Throwable failure) {
        return new EncodedObject(new byte[0], failure);
    }

    public byte[] bytes() {
        return bytes;
    }

    /** The number of bytes, or {@link #FAILED}. */
    long size() {
        return failure == null ? bytes.length : FAILED;
    }

    /** The failure of the encoding; null after success. */
    @Nullable
    public Throwable failure() {
        return failure;
    }
}
