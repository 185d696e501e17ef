package io.jrun.launcher.cert;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x500.X500NameBuilder;
import org.bouncycastle.asn1.x500.style.BCStyle;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.ExtendedKeyUsage;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.asn1.x509.KeyPurposeId;
import org.bouncycastle.asn1.x509.KeyUsage;
import org.bouncycastle.cert.X509CertificateHolder;
import org.bouncycastle.cert.X509v3CertificateBuilder;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;

/**
 * The certificate authority of a cluster. Its file has its key, its certificate and the secret of the cluster. The
 * administrator keeps this file, and makes from it one file for each node and user. All keys are P-256, all signatures
 * ECDSA with SHA-256. Stateless.
 */
public final class CertificateAuthority {
    /** The name of the authority's file. */
    private static final String FILE = "ca.pem";

    private static final Duration LIFE = Duration.ofDays(3650);

    /** Certificates begin this much earlier, so that hosts with a slow clock accept a new certificate. */
    private static final Duration SKEW = Duration.ofMinutes(10);

    private static final int SERIAL_BITS = 127;
    private static final int SECRET_BYTES = 32;
    private static final SecureRandom RANDOM = new SecureRandom();

    private CertificateAuthority() {}

    /**
     * Makes an authority in {@code folder}. Returns its file.
     *
     * @throws UncheckedIOException if the file exists already or cannot be written
     */
    public static String init(String folder) {
        Path file = Path.of(folder).resolve(FILE);
        try {
            KeyPair keys = keyPair();
            X500Name name = name("jrun authority " + new BigInteger(32, RANDOM).toString(16));
            X509v3CertificateBuilder builder = builder(name, name, keys.getPublic(), LIFE)
                    .addExtension(Extension.basicConstraints, true, new BasicConstraints(0))
                    .addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.keyCertSign | KeyUsage.cRLSign))
                    .addExtension(
                            Extension.subjectKeyIdentifier,
                            false,
                            new JcaX509ExtensionUtils().createSubjectKeyIdentifier(keys.getPublic()));
            byte[] secret = new byte[SECRET_BYTES];
            RANDOM.nextBytes(secret);
            Pem.write(
                    file,
                    List.of(
                            Pem.PemBlock.of(Pem.KEY, keys.getPrivate().getEncoded()),
                            Pem.PemBlock.of(Pem.CERTIFICATE, signed(builder, keys.getPrivate())),
                            Pem.PemBlock.of(Pem.SECRET, secret)));
            return file.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (GeneralSecurityException | OperatorCreationException e) {
            throw new IllegalStateException("this JDK lacks P-256 or ECDSA", e);
        }
    }

    /**
     * Makes the file of a node or user with the authority in {@code folder}. Returns the file.
     *
     * @param names the names or numeric addresses of a node; the first name is the name of the file
     * @param days the validity of the certificate, in days
     * @throws UncheckedIOException if the authority is missing, or the file exists already
     */
    public static String node(String folder, List<String> names, int days) {
        Path file = Path.of(folder).resolve(names.getFirst() + ".pem");
        try {
            Authority authority = Authority.read(Path.of(folder).resolve(FILE));
            KeyPair keys = keyPair();
            X509v3CertificateBuilder builder = builder(
                            authority.certificate().getSubject(),
                            name(names.getFirst()),
                            keys.getPublic(),
                            Duration.ofDays(days))
                    .addExtension(Extension.basicConstraints, true, new BasicConstraints(false))
                    .addExtension(Extension.keyUsage, true, new KeyUsage(KeyUsage.digitalSignature))
                    .addExtension(Extension.extendedKeyUsage, false, new ExtendedKeyUsage(new KeyPurposeId[] {
                        KeyPurposeId.id_kp_serverAuth, KeyPurposeId.id_kp_clientAuth
                    }))
                    .addExtension(Extension.subjectAlternativeName, false, alternatives(names))
                    .addExtension(
                            Extension.authorityKeyIdentifier,
                            false,
                            new JcaX509ExtensionUtils().createAuthorityKeyIdentifier(authority.certificate()));
            Pem.write(
                    file,
                    List.of(
                            Pem.PemBlock.of(Pem.KEY, keys.getPrivate().getEncoded()),
                            Pem.PemBlock.of(Pem.CERTIFICATE, signed(builder, authority.key())),
                            Pem.PemBlock.of(
                                    Pem.CERTIFICATE, authority.certificate().getEncoded()),
                            authority.secret()));
            return file.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (GeneralSecurityException | OperatorCreationException e) {
            throw new IllegalStateException("this JDK lacks P-256 or ECDSA", e);
        }
    }

    private static KeyPair keyPair() throws GeneralSecurityException {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
        generator.initialize(new ECGenParameterSpec("secp256r1"), RANDOM);
        return generator.generateKeyPair();
    }

    private static X500Name name(String commonName) {
        return new X500NameBuilder(BCStyle.INSTANCE)
                .addRDN(BCStyle.CN, commonName)
                .build();
    }

    private static X509v3CertificateBuilder builder(X500Name issuer, X500Name subject, PublicKey key, Duration life) {
        Instant now = Instant.now();
        return new JcaX509v3CertificateBuilder(
                issuer,
                new BigInteger(SERIAL_BITS, RANDOM).add(BigInteger.ONE),
                Date.from(now.minus(SKEW)),
                Date.from(now.plus(life)),
                subject,
                key);
    }

    private static GeneralNames alternatives(List<String> names) {
        List<GeneralName> alternatives = new ArrayList<>();
        for (String name : names) {
            boolean numeric = name.matches("[0-9.]+") || name.contains(":");
            alternatives.add(new GeneralName(numeric ? GeneralName.iPAddress : GeneralName.dNSName, name));
        }
        return new GeneralNames(alternatives.toArray(GeneralName[]::new));
    }

    private static byte[] signed(X509v3CertificateBuilder builder, PrivateKey key)
            throws IOException, OperatorCreationException {
        X509CertificateHolder certificate = builder.build(new JcaContentSignerBuilder("SHA256withECDSA").build(key));
        return certificate.getEncoded();
    }
}
