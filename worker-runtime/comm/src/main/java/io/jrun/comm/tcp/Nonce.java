package io.jrun.comm.tcp;

import java.nio.ByteBuffer;
import java.security.SecureRandom;

/** A number that is used once. The nonce makes the proofs of one handshake useless for any other handshake. */
final class Nonce {
    static final int BYTES = 32;

    private final byte[] value;

    private Nonce(byte[] value) {
        this.value = value;
    }

    static Nonce fresh(SecureRandom random) {
        byte[] value = new byte[BYTES];
        random.nextBytes(value);
        return new Nonce(value);
    }

    static Nonce read(ByteBuffer bytes) {
        byte[] value = new byte[BYTES];
        bytes.get(value);
        return new Nonce(value);
    }

    byte[] toArray() {
        return value.clone();
    }
}
