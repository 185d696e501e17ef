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
 * Makes the Ed25519 key pair of a private key. For P-256 the JDK computes a table of points before the first signature,
 * which takes longer than all other work of a launcher before it connects. Ed25519 needs no table. Source: RFC 8032,
 * 5.1.5.
 */
final class Ed25519 {
    /** The length of a private key in bytes. Every value is a valid key. */
    static final int KEY_BYTES = 32;

    private Ed25519() {}

    /**
     * Makes the key pair. The JDK makes key pairs only from random bytes, so it gets {@code privateKey} as random
     * bytes.
     */
    static KeyPair keyPair(byte[] privateKey) throws GeneralSecurityException {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("Ed25519");
        generator.initialize(NamedParameterSpec.ED25519, new Given(privateKey));
        KeyPair pair = generator.generateKeyPair();
        boolean isGiven = pair.getPrivate() instanceof EdECPrivateKey key
                && key.getBytes()
                        .filter(bytes -> Arrays.equals(bytes, privateKey))
                        .isPresent();
        if (!isGiven) {
            throw new GeneralSecurityException("this JDK does not use the random bytes as the Ed25519 private key");
        }
        return pair;
    }

    /** A source of random bytes that returns given bytes. */
    private static final class Given extends SecureRandom {
        private static final long serialVersionUID = 1;

        Given(byte[] bytes) {
            super(new FixedRandom(bytes), null);
        }
    }

    private static final class FixedRandom extends SecureRandomSpi {
        private static final long serialVersionUID = 1;

        private final byte[] bytes;

        FixedRandom(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        protected void engineNextBytes(byte[] wanted) {
            System.arraycopy(bytes, 0, wanted, 0, wanted.length);
        }

        @Override
        protected byte[] engineGenerateSeed(int count) {
            throw new UnsupportedOperationException("this source only returns the given bytes");
        }

        @Override
        protected void engineSetSeed(byte[] seed) {
            throw new UnsupportedOperationException("this source only returns the given bytes");
        }
    }
}
