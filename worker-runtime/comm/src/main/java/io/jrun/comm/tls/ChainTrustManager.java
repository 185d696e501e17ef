package io.jrun.comm.tls;

import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedTrustManager;

/** A trust manager with one check for clients and servers, over sockets and engines. Checks no names of hosts. */
public abstract class ChainTrustManager extends X509ExtendedTrustManager {
    /**
     * Checks the certificates of a peer.
     *
     * @param chain certificate of the peer, then the certificates of its issuers
     * @throws CertificateException if the peer is not trusted
     */
    protected abstract void check(X509Certificate... chain) throws CertificateException;

    @Override
    public final void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
        check(chain);
    }

    @Override
    public final void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
            throws CertificateException {
        check(chain);
    }

    @Override
    public final void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
            throws CertificateException {
        check(chain);
    }

    @Override
    public final void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
        check(chain);
    }

    @Override
    public final void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
            throws CertificateException {
        check(chain);
    }

    @Override
    public final void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
            throws CertificateException {
        check(chain);
    }

    @Override
    public final X509Certificate[] getAcceptedIssuers() {
        return new X509Certificate[0];
    }
}
