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
 * The identity of a launcher or agent: a key pair, and a token for calls. All holders of one secret have the same key
 * pair. With certificates each node and user has a key pair of its own, and all of one authority have the same token.
 * TLS with {@link #keyManager()} and {@link #trustManager()} on both sides accepts exactly these peers, as clients and
 * as servers. Immutable.
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
     * Derives the identity of the holders of {@code secret}, in some milliseconds. A caller that has seen the public
     * key can test guesses of the secret, so a secret must be too long to be guessed.
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
     * Reads the identity in a file of {@code jrun cert node}: a key of its own, and trust in all certificates of the
     * same authority.
     *
     * @throws IllegalArgumentException if the text is not from such a file
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

    /**
     * HKDF with the purpose as its info, so a value for one purpose gives no information about other values. Source:
     * RFC 5869.
     */
    private static byte[] derive(byte[] secret, String purpose, int bytes) throws GeneralSecurityException {
        return KDF.getInstance("HKDF-SHA256")
                .deriveData(HKDFParameterSpec.ofExtract()
                        .addIKM(secret)
                        .thenExpand(purpose.getBytes(StandardCharsets.US_ASCII), bytes));
    }

    /** The key manager that sends this identity to the peer. */
    public KeyManager keyManager() {
        return shown;
    }

    /** The trust manager that accepts only this identity, or only certificates of the same authority. */
    public TrustManager trustManager() {
        return trusted;
    }

    /** A copy of the token that a caller sends with each call. */
    public byte[] token() {
        return Arrays.copyOf(token, token.length);
    }
}
