package io.jrun.agent.tls;

import io.jrun.comm.tls.SelfSigned;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import javax.crypto.KDF;
import javax.crypto.spec.HKDFParameterSpec;
import javax.net.ssl.KeyManager;
import javax.net.ssl.TrustManager;

/**
 * What a secret makes of those who share it: one key pair, the same for all of them on every machine, and a token for calls.
 * TLS with {@link #keyManager()} and {@link #trustManager()} on both sides lets in exactly those who know the secret, as
 * clients and as servers. Immutable.
 */
public final class PeerIdentity {
    /** FIPS 186-5, A.2.1: 64 bits more than the order of the curve has, at least. */
    private static final int KEY_BYTES = 48;

    private static final int TOKEN_BYTES = 32;

    private final KeyPair keys;
    private final X509Certificate certificate;
    private final byte[] token;

    private PeerIdentity(KeyPair keys, X509Certificate certificate, byte[] token) {
        this.keys = keys;
        this.certificate = certificate;
        this.token = token;
    }

    /**
     * The identity of those who know {@code secret}; takes some milliseconds. Who sees the public key can try secrets against
     * it, so a secret must be too long to be guessed.
     */
    public static PeerIdentity of(byte[] secret) {
        try {
            KeyPair keys = P256.keyPair(derive(secret, "jrun agent key 1", KEY_BYTES));
            return new PeerIdentity(
                    keys, SelfSigned.of(keys, "jrun agent"), derive(secret, "jrun agent call 1", TOKEN_BYTES));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this JDK lacks HKDF-SHA256, P-256 or ECDSA", e);
        }
    }

    /** HKDF with the purpose as its info, so that nothing derived for one purpose tells of another. Source: RFC 5869. */
    private static byte[] derive(byte[] secret, String purpose, int bytes) throws GeneralSecurityException {
        return KDF.getInstance("HKDF-SHA256")
                .deriveData(HKDFParameterSpec.ofExtract()
                        .addIKM(secret)
                        .thenExpand(purpose.getBytes(StandardCharsets.US_ASCII), bytes));
    }

    /** Shows this identity to the other side. */
    public KeyManager keyManager() {
        return new OneKey(keys.getPrivate(), certificate);
    }

    /** Accepts this identity and no other; chains, names and dates do not matter. */
    public TrustManager trustManager() {
        return new OnePeer(keys.getPublic());
    }

    /** What a caller shows with each call; a copy. */
    public byte[] token() {
        return Arrays.copyOf(token, token.length);
    }
}
