package io.jrun.comm.tcp;

import io.jrun.comm.control.Bytes;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Proofs of knowing the job secret: HMAC-SHA256 over a label of the prover's role, the hello, the called side's nonce,
 * the {@linkplain Connection#binding binding} of the connection, and what else is to be protected. Two fresh nonces and distinct labels rule out replay and reflection. Confined to one thread.
 *
 * <p>Source: RFC 2104; ISO/IEC 9798-4 mechanism 4 (three-pass mutual authentication).
 */
final class SecretProof {
    /** Bytes of a proof. */
    static final int BYTES = 32;

    /** Who proves, at which step. */
    enum Role {
        /** The called side, by answering the hello. */
        CALLED,
        /** The caller, by answering the challenge; protects what a notice says. */
        CALLER,
        /** The called side again, with its verdict. */
        VERDICT;

        private byte[] label() {
            return ("jrun tcp 1 " + name()).getBytes(StandardCharsets.US_ASCII);
        }
    }

    private final SecretKeySpec key;
    private final SecureRandom random = new SecureRandom();

    SecretProof(Bytes secret) {
        this.key = new SecretKeySpec(secret.toArray(), "HmacSHA256");
    }

    Nonce nonce() {
        return Nonce.fresh(random);
    }

    byte[] prove(Role role, HandshakeRequest hello, Nonce challenge, byte[] binding, byte[] content) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(key);
            mac.update(role.label());
            mac.update(hello.encode());
            mac.update(challenge.toArray());
            mac.update(binding);
            return mac.doFinal(content);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has HmacSHA256", e);
        }
    }

    /** Throws unless {@code proof} is right; takes equally long wherever it differs. */
    void check(byte[] proof, Role role, HandshakeRequest hello, Nonce challenge, byte[] binding, byte[] content)
            throws HandshakeRefusedException {
        if (!MessageDigest.isEqual(proof, prove(role, hello, challenge, binding, content))) {
            throw new HandshakeRefusedException("it does not know the job's secret");
        }
    }
}
