package io.jrun.comm.tls;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;

/**
 * A self-signed certificate that carries only a public key. TLS needs a certificate, the JDK cannot make one, and peers
 * compare only the key. The certificate never expires, so peers' clocks do not matter. Source: RFC 5280, 4.1; RFC 8410;
 * X.690 (DER).
 */
public final class SelfSigned {
    private static final int SEQUENCE = 0x30;
    private static final int SET = 0x31;
    private static final int INTEGER = 0x02;
    private static final int BIT_STRING = 0x03;
    private static final int OBJECT_ID = 0x06;
    private static final int UTF8_STRING = 0x0c;
    private static final int GENERALIZED_TIME = 0x18;

    private static final byte[] ED25519 = {0x2b, 0x65, 0x70};
    private static final byte[] COMMON_NAME = {0x55, 0x04, 0x03};

    private SelfSigned() {}

    /**
     * Makes a certificate of the Ed25519 public key of {@code pair}, signed with the private key of the pair.
     *
     * @param name subject in ASCII, for information only; no peer checks it
     */
    public static X509Certificate of(KeyPair pair, String name) throws GeneralSecurityException {
        byte[] algorithm = der(SEQUENCE, der(OBJECT_ID, ED25519));
        byte[] subject =
                der(SEQUENCE, der(SET, der(SEQUENCE, der(OBJECT_ID, COMMON_NAME), der(UTF8_STRING, ascii(name)))));
        byte[] validity = der(
                SEQUENCE,
                der(GENERALIZED_TIME, ascii("20200101000000Z")),
                der(GENERALIZED_TIME, ascii("99991231235959Z"))); // RFC 5280, 4.1.2.5: no expiry
        byte[] signed = der(
                SEQUENCE,
                der(INTEGER, new byte[] {1}),
                algorithm,
                subject,
                validity,
                subject,
                pair.getPublic().getEncoded());
        Signature signature = Signature.getInstance("Ed25519");
        signature.initSign(pair.getPrivate());
        signature.update(signed);
        byte[] certificate =
                der(SEQUENCE, signed, algorithm, der(BIT_STRING, new byte[] {0}, signature.sign())); // 0 unused bits
        return (X509Certificate)
                CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(certificate));
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    /** Encodes tag, length and the concatenated parts. All contents are below 64 KiB. */
    private static byte[] der(int tag, byte[]... parts) {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            content.writeBytes(part);
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(tag);
        int length = content.size();
        if (length >= 0x100) {
            out.write(0x82);
            out.write(length >> 8);
        } else if (length >= 0x80) {
            out.write(0x81);
        }
        out.write(length);
        out.writeBytes(content.toByteArray());
        return out.toByteArray();
    }
}
