package io.jrun.agent.image.pull;

import io.jrun.comm.file.Sha256;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.function.LongConsumer;

/** Counts and digests the bytes of another stream. For one thread. */
final class Sha256Stream extends FilterInputStream {
    private final MessageDigest sha256 = Sha256.start();
    private final LongConsumer counter;
    private long count;

    /** @param counter receives the number of bytes of each read */
    Sha256Stream(InputStream in, LongConsumer counter) {
        super(in);
        this.counter = counter;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        int read = in.read(bytes, offset, length);
        if (read > 0) {
            sha256.update(bytes, offset, read);
            count += read;
            counter.accept(read);
        }
        return read;
    }

    /** Bytes so far. */
    long count() {
        return count;
    }

    /** Returns the digest of all bytes so far, as sha256:... The stream cannot be used after this call. */
    String digest() {
        return "sha256:" + HexFormat.of().formatHex(sha256.digest());
    }

    /** Returns the digest of an array, as sha256:... */
    static String digest(byte[] bytes) {
        return "sha256:" + HexFormat.of().formatHex(Sha256.start().digest(bytes));
    }
}
