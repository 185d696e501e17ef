package io.jrun.agent.tls;

import io.jrun.comm.tls.ChainTrustManager;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.cert.X509Certificate;

/** Trusts the holder of one key. In TLS the peer proves that it holds the private key. */
final class PinnedKeyTrustManager extends ChainTrustManager {
    private final byte[] trusted;

    PinnedKeyTrustManager(PublicKey trusted) {
        this.trusted = trusted.getEncoded();
    }

    @Override
    protected void check(X509Certificate... chain) throws UnknownPeerException {
        if (chain.length == 0
                || !MessageDigest.isEqual(trusted, chain[0].getPublicKey().getEncoded())) {
            throw new UnknownPeerException();
        }
    }
}
