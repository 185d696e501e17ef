package io.jrun.comm;

import org.jspecify.annotations.Nullable;

/** What became of encoding an object. */
final class Encoded {
    /** In place of an object of another rank. */
    static final Encoded NOTHING = new Encoded(new byte[0], null);

    /** In place of the size of an object that could not be encoded. */
    static final long FAILED = -1;

    private final byte[] bytes;
    private final @Nullable Throwable failure;

    private Encoded(byte[] bytes, @Nullable Throwable failure) {
        this.bytes = bytes;
        this.failure = failure;
    }

    /** Never throws: what a codec does wrong is told to all ranks. */
    static <T> Encoded of(@Nullable T value, Codec<T> codec) {
        if (value == null) {
            return failed(new IllegalArgumentException("the value is null"));
        }
        try {
            return of(codec.encode(value));
        } catch (RuntimeException | Error e) {
            return failed(e);
        }
    }

    private static Encoded of(byte @Nullable [] bytes) {
        return bytes == null
                ? failed(new IllegalArgumentException("the codec has returned null"))
                : new Encoded(bytes, null);
    }

    static Encoded failed(Throwable failure) {
        return new Encoded(new byte[0], failure);
    }

    byte[] bytes() {
        return bytes;
    }

    /** Bytes, or {@link #FAILED}. */
    long size() {
        return failure == null ? bytes.length : FAILED;
    }

    /** Why there are no bytes; null if there are. */
    @Nullable
    Throwable failure() {
        return failure;
    }
}
