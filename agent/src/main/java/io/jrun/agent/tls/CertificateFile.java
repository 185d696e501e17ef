package io.jrun.agent.tls;

import io.jrun.comm.control.Bytes;
import java.io.ByteArrayInputStream;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The file of {@code jrun cert node}: a private key, its certificate, the certificate of the authority, and the secret
 * of all nodes and users of this authority.
 */
record CertificateFile(PrivateKey key, X509Certificate own, X509Certificate authority, Bytes secret) {
    private static final List<String> KINDS = List.of("PRIVATE KEY", "CERTIFICATE", "CERTIFICATE", "JRUN SECRET");
    private static final Pattern BLOCK =
            Pattern.compile("-----BEGIN ([A-Z ]+)-----\\s++([A-Za-z0-9+/=\\s]++)-----END \\1-----");

    /** @throws IllegalArgumentException if the text is not such a file */
    static CertificateFile parse(String text) {
        List<String> kinds = new ArrayList<>();
        List<byte[]> blocks = new ArrayList<>();
        Matcher matcher = BLOCK.matcher(text);
        while (matcher.find()) {
            kinds.add(matcher.group(1));
            blocks.add(decoded(matcher.group(2)));
        }
        if (!kinds.equals(KINDS)) {
            throw new IllegalArgumentException("the file is not from 'jrun cert node'");
        }
        try {
            return new CertificateFile(
                    KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(blocks.get(0))),
                    certificate(blocks.get(1)),
                    certificate(blocks.get(2)),
                    Bytes.of(blocks.get(3)));
        } catch (GeneralSecurityException e) {
            throw new IllegalArgumentException("the file is damaged: " + e.getMessage(), e);
        }
    }

    private static byte[] decoded(String base64) {
        try {
            return Base64.getMimeDecoder().decode(base64);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("the file is damaged: its base64 text ends too early", e);
        }
    }

    private static X509Certificate certificate(byte[] der) throws GeneralSecurityException {
        return (X509Certificate)
                CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(der));
    }
}
