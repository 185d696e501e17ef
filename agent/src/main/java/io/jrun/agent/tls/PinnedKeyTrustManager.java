package io.jrun.agent.tls;

import java.net.Socket;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedTrustManager;

/** Trusts the holder of one key. In TLS the peer proves that it holds the private key. */
final class PinnedKeyTrustManager extends X509ExtendedTrustManager {
    private final byte[] trusted;

    PinnedKeyTrustManager(PublicKey trusted) {
        this.trusted = trusted.getEncoded();
    }

    private void check(X509Certificate[] chain) throws UnknownPeerException {
        if (chain.length == 0
                || !MessageDigest.isEqual(trusted, chain[0].getPublicKey().getEncoded())) {
            throw new UnknownPeerException();
        }
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType) throws UnknownPeerException {
        check(chain);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, Socket socket)
            throws UnknownPeerException {
        check(chain);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
            throws UnknownPeerException {
        check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType) throws UnknownPeerException {
        check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, Socket socket)
            throws UnknownPeerException {
        check(chain);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
            throws UnknownPeerException {
        check(chain);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        return new X509Certificate[0];
    }
}
