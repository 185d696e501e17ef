package io.jrun.comm.tcp;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Encryption of one rank's connections. The key is made for this process and never leaves it; its certificate says nothing
 * about who owns it, and nobody asks: who the peer is, is proved inside the encrypted connection by knowing the job secret,
 * over a value that is different at the two ends if somebody sits between ({@link Connection#binding}). Thread-safe.
 */
final class Tls {
    private static final String[] PROTOCOLS = {"TLSv1.3"};
    private static final String[] CIPHERS = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"};
    private static final char[] NO_PASSWORD = {};

    private final SSLContext context;

    private Tls(SSLContext context) {
        this.context = context;
    }

    /** With a fresh key. */
    static Tls create() {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"));
            KeyPair keys = generator.generateKeyPair();
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            store.setKeyEntry("rank", keys.getPrivate(), NO_PASSWORD, new Certificate[] {SelfSigned.certify(keys)});
            KeyManagerFactory managers = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            managers.init(store, NO_PASSWORD);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(managers.getKeyManagers(), new TrustManager[] {new AnyCertificate()}, new SecureRandom());
            return new Tls(context);
        } catch (GeneralSecurityException | IOException e) {
            throw new IllegalStateException("every Java platform has TLS 1.3 on P-256", e);
        }
    }

    /** One end of a connection: the caller's is TLS's client. */
    SSLEngine engine(boolean caller) {
        SSLEngine engine = context.createSSLEngine();
        engine.setUseClientMode(caller);
        engine.setEnabledProtocols(PROTOCOLS);
        engine.setEnabledCipherSuites(CIPHERS);
        return engine;
    }

    /** The least certificate that TLS takes; RFC 5280, section 4.1, version 1. */
    private static final class SelfSigned {
        private static final int SEQUENCE = 0x30;
        private static final int SET = 0x31;
        private static final int INTEGER = 0x02;
        private static final int BIT_STRING = 0x03;
        private static final int UTF8_STRING = 0x0c;
        private static final int GENERALIZED_TIME = 0x18;
        private static final byte[] ECDSA_WITH_SHA256 = {6, 8, 0x2a, (byte) 0x86, 0x48, (byte) 0xce, 0x3d, 4, 3, 2};
        private static final byte[] COMMON_NAME = {6, 3, 0x55, 4, 3};

        static X509Certificate certify(KeyPair keys) throws GeneralSecurityException, IOException {
            byte[] algorithm = der(SEQUENCE, ECDSA_WITH_SHA256);
            byte[] name = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8_STRING, ascii("jrun rank")))));
            byte[] validity = der(
                    SEQUENCE,
                    der(GENERALIZED_TIME, ascii("20000101000000Z")),
                    der(GENERALIZED_TIME, ascii("99991231235959Z")));
            byte[] serial = der(INTEGER, new byte[] {1});
            byte[] content = der(
                    SEQUENCE,
                    serial,
                    algorithm,
                    name,
                    validity,
                    name,
                    keys.getPublic().getEncoded());
            Signature signer = Signature.getInstance("SHA256withECDSA");
            signer.initSign(keys.getPrivate());
            signer.update(content);
            byte[] whole = der(SEQUENCE, content, algorithm, der(BIT_STRING, new byte[] {0}, signer.sign()));
            return (X509Certificate)
                    CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(whole));
        }

        private static byte[] ascii(String text) {
            return text.getBytes(StandardCharsets.US_ASCII);
        }

        /** Tag, length and content as X.690 writes them; contents here are shorter than 64 KiB. */
        private static byte[] der(int tag, byte[]... parts) throws IOException {
            ByteArrayOutputStream content = new ByteArrayOutputStream();
            for (byte[] part : parts) {
                content.write(part);
            }
            int length = content.size();
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            out.write(tag);
            if (length >= 0x100) {
                out.write(0x82);
                out.write(length >>> 8);
            } else if (length >= 0x80) {
                out.write(0x81);
            }
            out.write(length);
            content.writeTo(out);
            return out.toByteArray();
        }
    }

    private static final class AnyCertificate extends X509ExtendedTrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) {}

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
