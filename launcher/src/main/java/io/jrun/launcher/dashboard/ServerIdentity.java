package io.jrun.launcher.dashboard;

import io.jrun.comm.file.FileError;
import io.jrun.launcher.cert.Pem;
import io.jrun.launcher.job.UsageException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/**
 * The certificate and key of a web server, from PEM files of any authority. Immutable.
 *
 * @param context makes TLS connections with the certificate
 * @param names the names and addresses for which the certificate is valid; a name may begin with {@code *.}
 */
public record ServerIdentity(SSLContext context, List<String> names) {
    private static final int DNS_NAME = 2;
    private static final int ADDRESS = 7;

    /** The algorithm of a signature by a key of an algorithm. */
    private static final Map<String, String> SIGNATURES =
            Map.of("RSA", "SHA256withRSA", "EC", "SHA256withECDSA", "EdDSA", "EdDSA", "RSASSA-PSS", "RSASSA-PSS");

    public ServerIdentity {
        names = List.copyOf(names);
    }

    /**
     * Reads the files.
     *
     * @throws UsageException with one line if a file cannot be read or is no such file, or if the key is another one
     */
    public static ServerIdentity read(Path certificate, Path key) {
        List<X509Certificate> chain = chain(certificate);
        X509Certificate own = chain.getFirst();
        PrivateKey privateKey = key(key, own);
        try {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            store.setKeyEntry("server", privateKey, new char[0], chain.toArray(new Certificate[0]));
            KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(store, new char[0]);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(keys.getKeyManagers(), null, null);
            return new ServerIdentity(context, names(own));
        } catch (GeneralSecurityException | IOException e) {
            throw new UsageException(
                    "--tls-certificate: " + certificate + " cannot be used: " + FileError.reason(asIo(e)));
        }
    }

    private static IOException asIo(Exception e) {
        return e instanceof IOException io ? io : new IOException(e.getMessage(), e);
    }

    private static List<Pem.PemBlock> blocks(String option, Path file, String kind) {
        try {
            List<Pem.PemBlock> blocks = Pem.read(file);
            List<Pem.PemBlock> found =
                    blocks.stream().filter(block -> block.kind().equals(kind)).toList();
            if (found.isEmpty()) {
                throw new UsageException(option + ": " + file + " has no block 'BEGIN " + kind + "'"
                        + (blocks.isEmpty() ? ": it is no PEM file" : ", but " + kinds(blocks)) + ".");
            }
            return found;
        } catch (IOException e) {
            throw new UsageException(option + ": cannot read " + file + ": " + FileError.reason(e, file) + ".");
        }
    }

    private static String kinds(List<Pem.PemBlock> blocks) {
        String first = blocks.getFirst().kind();
        return "'" + first + "'" + (first.endsWith(Pem.KEY) ? "; 'openssl pkcs8 -topk8 -nodes' converts the key" : "");
    }

    private static List<X509Certificate> chain(Path file) {
        List<X509Certificate> chain = new ArrayList<>();
        for (Pem.PemBlock block : blocks("--tls-certificate", file, Pem.CERTIFICATE)) {
            try {
                chain.add((X509Certificate) CertificateFactory.getInstance("X.509")
                        .generateCertificate(new ByteArrayInputStream(block.content())));
            } catch (GeneralSecurityException | IllegalArgumentException e) {
                throw new UsageException("--tls-certificate: " + file + " is damaged: " + e.getMessage() + ".");
            }
        }
        return chain;
    }

    private static PrivateKey key(Path file, X509Certificate own) {
        String algorithm = own.getPublicKey().getAlgorithm();
        Pem.PemBlock block = blocks("--tls-key", file, Pem.KEY).getFirst();
        try {
            PrivateKey key =
                    KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(block.content()));
            if (isKeyOf(key, own)) {
                return key;
            }
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            // a key of another kind, or a damaged one
        }
        throw new UsageException(
                "--tls-key: " + file + " is not the key of the certificate (a key of " + algorithm + ").");
    }

    private static boolean isKeyOf(PrivateKey key, X509Certificate own) throws GeneralSecurityException {
        String algorithm = SIGNATURES.get(own.getPublicKey().getAlgorithm());
        if (algorithm == null) {
            return true; // the handshake will find out
        }
        byte[] text = {1, 2, 3};
        Signature signing = Signature.getInstance(algorithm);
        signing.initSign(key);
        signing.update(text);
        byte[] signature = signing.sign();
        signing.initVerify(own.getPublicKey());
        signing.update(text);
        return signing.verify(signature);
    }

    private static List<String> names(X509Certificate certificate) throws GeneralSecurityException {
        Collection<List<?>> alternatives = certificate.getSubjectAlternativeNames();
        List<String> names = new ArrayList<>();
        for (List<?> name : alternatives == null ? List.<List<?>>of() : alternatives) {
            int kind = (Integer) name.get(0);
            if (kind == DNS_NAME || kind == ADDRESS) {
                names.add(String.valueOf(name.get(1)));
            }
        }
        return names;
    }
}
