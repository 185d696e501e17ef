package io.jrun.agent.tls;

import java.io.Serial;
import java.security.cert.CertificateException;

/**
 * The TLS peer does not know the secret, or has no certificate for the called name. The message is a part of a sentence
 * about the peer.
 */
public final class UnknownPeerException extends CertificateException {
    @Serial
    private static final long serialVersionUID = 1L;

    UnknownPeerException() {
        super("the agent was started with another secret; give the --secret-file of 'jrun agent'");
    }

    /** @param why the reason of the refusal */
    UnknownPeerException(CertificateException why) {
        super("the certificate of the peer is not accepted: " + why.getMessage(), why);
    }
}
