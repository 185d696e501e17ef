package io.jrun.comm.tcp;

import io.jrun.comm.tls.ChainTrustManager;
import io.jrun.comm.tls.SelfSigned;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;

/**
 * The TLS encryption of one rank's connections. The process makes the key, and the key never leaves the process. The
 * certificate does not identify its owner, and no peer verifies it. Instead, the peer proves inside the encrypted
 * connection that it knows the job secret. The proof covers a value that differs at the two ends if there is a man in
 * the middle ({@link Connection#binding}). Thread-safe.
 */
final class Tls {
    private static final String[] PROTOCOLS = {"TLSv1.3"};
    private static final String[] CIPHERS = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"};
    private static final char[] NO_PASSWORD = {};

    private final SSLContext context;

    private Tls(SSLContext context) {
        this.context = context;
    }

    /** Makes an instance with a fresh key. */
    static Tls create() {
        try {
            KeyPair keys = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            store.setKeyEntry(
                    "rank", keys.getPrivate(), NO_PASSWORD, new Certificate[] {SelfSigned.of(keys, "jrun rank")});
            KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            managers.init(store, NO_PASSWORD);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(managers.getKeyManagers(), new TrustManager[] {new AnyCertificate()}, new SecureRandom());
            return new Tls(context);
        } catch (GeneralSecurityException | IOException e) {
            throw new IllegalStateException("this JDK lacks TLS 1.3 or Ed25519", e);
        }
    }

    /** Makes the engine of one end of a connection. The caller is the TLS client. */
    SSLEngine engine(boolean caller) {
        SSLEngine engine = context.createSSLEngine();
        engine.setUseClientMode(caller);
        engine.setEnabledProtocols(PROTOCOLS);
        engine.setEnabledCipherSuites(CIPHERS);
        return engine;
    }

    /** Accepts every certificate, because the handshake over the connection authenticates the peer. */
    private static final class AnyCertificate extends ChainTrustManager {
        @Override
        protected void check(X509Certificate... chain) {}
    }
}
