package io.jrun.agent.tls;

import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Trusts the peers with a certificate of one authority. The JDK checks chain, dates and purpose, and for a server also
 * the name that the client called.
 */
final class AuthorityTrustManager extends X509ExtendedTrustManager {
    private final X509ExtendedTrustManager checks;

    AuthorityTrustManager(X509Certificate authority) throws GeneralSecurityException {
        try {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            store.setCertificateEntry("authority", authority);
            TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
            factory.init(store);
            TrustManager made = factory.getTrustManagers()[0];
            checks = (X509ExtendedTrustManager) made;
        } catch (IOException e) {
            throw new IllegalStateException("an empty key store could not be made", e);
        }
    }

    /** A check of the JDK. */
    @FunctionalInterface
    private interface TrustCheck {
        void run() throws CertificateException;
    }

    private static void check(TrustCheck check) throws UnknownPeerException {
        try {
            check.run();
        } catch (CertificateException e) {
            throw new UnknownPeerException(e);
        }
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType) throws UnknownPeerException {
        check(() -> checks.checkClientTrusted(chain, authType));
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, Socket socket)
            throws UnknownPeerException {
        check(() -> checks.checkClientTrusted(chain, authType, socket));
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
            throws UnknownPeerException {
        check(() -> checks.checkClientTrusted(chain, authType, engine));
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType) throws UnknownPeerException {
        check(() -> checks.checkServerTrusted(chain, authType));
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, Socket socket)
            throws UnknownPeerException {
        check(() -> checks.checkServerTrusted(chain, authType, socket));
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
            throws UnknownPeerException {
        check(() -> checks.checkServerTrusted(chain, authType, engine));
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        return checks.getAcceptedIssuers();
    }
}
