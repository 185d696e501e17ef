package io.jrun.comm.tcp;

import io.jrun.comm.control.Bytes;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Proofs of knowledge of the job secret: HMAC-SHA256 over a label of the prover's role, the request, the nonce of the
 * called side, the {@linkplain Connection#binding binding} of the connection, and other content to protect. Two fresh
 * nonces and distinct labels prevent replay and reflection. Confined to one thread.
 *
 * <p>Source: RFC 2104; ISO/IEC 9798-4 mechanism 4 (three-pass mutual authentication).
 */
final class SecretProof {
    /** Bytes of a proof. */
    static final int BYTES = 32;

    /** The prover and the step of the handshake. */
    enum Role {
        /** The called side, in its answer to the request. */
        CALLED,
        /** The caller, in its answer to the challenge. Protects the content of a notice. */
        CALLER,
        /** The called side, in its reply. */
        REPLY;

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

    byte[] prove(Role role, HandshakeRequest request, Nonce challenge, byte[] binding, byte[] content) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(key);
            mac.update(role.label());
            mac.update(request.encode());
            mac.update(challenge.toArray());
            mac.update(binding);
            return mac.doFinal(content);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has HmacSHA256", e);
        }
    }

    /** Throws if {@code proof} is wrong. The comparison takes the same time at every position of a difference. */
    void check(byte[] proof, Role role, HandshakeRequest request, Nonce challenge, byte[] binding, byte[] content)
            throws HandshakeRefusedException {
        if (!MessageDigest.isEqual(proof, prove(role, request, challenge, binding, content))) {
            throw new HandshakeRefusedException("the peer does not know the job's secret");
        }
    }
}
