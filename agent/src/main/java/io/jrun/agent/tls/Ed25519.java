package io.jrun.agent.tls;

import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.SecureRandom;
import java.security.SecureRandomSpi;
import java.security.interfaces.EdECPrivateKey;
import java.security.spec.NamedParameterSpec;
import java.util.Arrays;

/**
 * The Ed25519 key pair that belongs to a private key. With P-256 the JDK computes a table of points before its first signature,
 * for longer than anything else that a launcher does before it connects; this curve has none. Source: RFC 8032, 5.1.5.
 */
final class Ed25519 {
    /** Any will do. */
    static final int KEY_BYTES = 32;

    private Ed25519() {}

    /** The JDK makes pairs of random bytes alone: here it gets {@code privateKey} as those. */
    static KeyPair keyPair(byte[] privateKey) throws GeneralSecurityException {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("Ed25519");
        generator.initialize(NamedParameterSpec.ED25519, new Given(privateKey));
        KeyPair pair = generator.generateKeyPair();
        boolean isGiven = pair.getPrivate() instanceof EdECPrivateKey key
                && key.getBytes()
                        .filter(bytes -> Arrays.equals(bytes, privateKey))
                        .isPresent();
        if (!isGiven) {
            throw new GeneralSecurityException("this JDK makes Ed25519 keys in a way of its own");
        }
        return pair;
    }

    /** Randomness that was drawn before. */
    private static final class Given extends SecureRandom {
        private static final long serialVersionUID = 1;

        Given(byte[] bytes) {
            super(new Bytes(bytes), null);
        }
    }

    private static final class Bytes extends SecureRandomSpi {
        private static final long serialVersionUID = 1;

        private final byte[] bytes;

        Bytes(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        protected void engineNextBytes(byte[] wanted) {
            System.arraycopy(bytes, 0, wanted, 0, wanted.length);
        }

        @Override
        protected byte[] engineGenerateSeed(int count) {
            throw new UnsupportedOperationException("there is nothing random here");
        }

        @Override
        protected void engineSetSeed(byte[] seed) {
            throw new UnsupportedOperationException("there is nothing random here");
        }
    }
}
