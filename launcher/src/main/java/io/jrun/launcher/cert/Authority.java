package io.jrun.launcher.cert;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.List;
import org.bouncycastle.cert.X509CertificateHolder;

/** The content of the file of an authority. */
record Authority(PrivateKey key, X509CertificateHolder certificate, Pem.PemBlock secret) {
    /** @throws IOException if the file is not the file of an authority */
    static Authority read(Path file) throws IOException, GeneralSecurityException {
        List<Pem.PemBlock> blocks;
        try {
            blocks = Pem.read(file);
        } catch (NoSuchFileException e) {
            throw new IOException("there is no authority in " + file.getParent() + "; make one: jrun cert init", e);
        }
        if (!blocks.stream().map(Pem.PemBlock::kind).toList().equals(List.of(Pem.KEY, Pem.CERTIFICATE, Pem.SECRET))) {
            throw new IOException(file + " is not from 'jrun cert init'");
        }
        return new Authority(
                KeyFactory.getInstance("EC")
                        .generatePrivate(new PKCS8EncodedKeySpec(blocks.get(0).content())),
                new X509CertificateHolder(blocks.get(1).content()),
                blocks.get(2));
    }
}
