package io.jrun.agent.tls;

import io.jrun.comm.tls.SelfSigned;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.util.Arrays;
import javax.crypto.KDF;
import javax.crypto.spec.HKDFParameterSpec;
import javax.net.ssl.KeyManager;
import javax.net.ssl.TrustManager;

/**
 * What a secret makes of those who share it: one key pair, the same for all of them on every machine, and a token for calls;
 * or what an authority has given to one of them: a key pair of its own, and the token of all whom it has admitted. TLS with {@link #keyManager()} and {@link #trustManager()} on both sides lets in exactly those, as
 * clients and as servers. Immutable.
 */
public final class PeerIdentity {
    private static final int TOKEN_BYTES = 32;

    private final KeyManager shown;
    private final TrustManager trusted;
    private final byte[] token;

    private PeerIdentity(KeyManager shown, TrustManager trusted, byte[] token) {
        this.shown = shown;
        this.trusted = trusted;
        this.token = token;
    }

    /**
     * The identity of those who know {@code secret}; takes some milliseconds. Who sees the public key can try secrets against
     * it, so a secret must be too long to be guessed.
     */
    public static PeerIdentity of(byte[] secret) {
        try {
            KeyPair keys = Ed25519.keyPair(derive(secret, "jrun agent key 2", Ed25519.KEY_BYTES));
            return new PeerIdentity(
                    new FixedKeyManager(keys.getPrivate(), SelfSigned.of(keys, "jrun agent")),
                    new PinnedKeyTrustManager(keys.getPublic()),
                    token(secret));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this JDK lacks HKDF-SHA256 or Ed25519", e);
        }
    }

    /**
     * The identity in a file of {@code jrun cert node}: a key of its own, and trust in all whom the same authority has admitted.
     *
     * @throws IllegalArgumentException if the text is none of such a file
     */
    public static PeerIdentity ofCertificate(String pem) {
        CertificateFile file = CertificateFile.parse(pem);
        try {
            return new PeerIdentity(
                    new FixedKeyManager(file.key(), file.own()),
                    new AuthorityTrustManager(file.authority()),
                    token(file.secret().toArray()));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this JDK lacks HKDF-SHA256 or PKIX", e);
        }
    }

    private static byte[] token(byte[] secret) throws GeneralSecurityException {
        return derive(secret, "jrun agent call 1", TOKEN_BYTES);
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
        return shown;
    }

    /** Accepts this identity and no other, or those of the same authority. */
    public TrustManager trustManager() {
        return trusted;
    }

    /** What a caller shows with each call; a copy. */
    public byte[] token() {
        return Arrays.copyOf(token, token.length);
    }
}
