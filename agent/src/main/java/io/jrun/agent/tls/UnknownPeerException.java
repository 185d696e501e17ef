package io.jrun.agent.tls;

import java.io.Serial;
import java.security.cert.CertificateException;

/** The other side of a TLS connection does not know the secret, or has no certificate for what it was called. The message is part of a sentence about it. */
public final class UnknownPeerException extends CertificateException {
    @Serial
    private static final long serialVersionUID = 1L;

    UnknownPeerException() {
        super("it was started with another secret; give the --secret-file that 'jrun agent' was given");
    }

    /** @param why its certificate was not accepted */
    UnknownPeerException(CertificateException why) {
        super("its certificate is not accepted here: " + why.getMessage(), why);
    }
}
