package io.jrun.launcher.cert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.agent.tls.PeerIdentity;
import java.io.ByteArrayInputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CertificateAuthorityTest {
    @TempDir
    private Path folder;

    private String ca;

    @BeforeEach
    void makeAuthority() {
        ca = folder.resolve("ca").toString();
        assertThat(CertificateAuthority.init(ca)).isEqualTo(ca + "/ca.pem");
    }

    private static List<X509Certificate> certificates(String file) throws Exception {
        List<X509Certificate> certificates = new ArrayList<>();
        for (Pem.PemBlock block : Pem.read(Path.of(file))) {
            if (block.kind().equals(Pem.CERTIFICATE)) {
                certificates.add((X509Certificate) CertificateFactory.getInstance("X.509")
                        .generateCertificate(new ByteArrayInputStream(block.content())));
            }
        }
        return certificates;
    }

    @Test
    void aNodesCertificateIsTheAuthoritysForItsNamesAlone() throws Exception {
        String file = CertificateAuthority.node(ca, List.of("gpu1", "gpu1.lan", "10.0.0.1", "fd00::1"), 30);
        List<X509Certificate> chain = certificates(file);
        X509Certificate own = chain.getFirst();
        own.verify(chain.getLast().getPublicKey());
        own.checkValidity();
        assertThat(own.getBasicConstraints()).as("it signs nothing").isEqualTo(-1);
        assertThat(chain.getLast().getBasicConstraints()).isZero();
        assertThat(own.getSubjectAlternativeNames().stream().map(name -> String.valueOf(name.getLast())))
                .containsExactly("gpu1", "gpu1.lan", "10.0.0.1", "fd00:0:0:0:0:0:0:1");
        assertThat(own.getNotAfter().toInstant()).isBefore(Instant.now().plus(Duration.ofDays(31)));
    }

    @Test
    void aFileOfANodeIsAnIdentityAndTheFileOfTheAuthorityIsNone() throws Exception {
        String first = Files.readString(Path.of(CertificateAuthority.node(ca, List.of("a"), 1)));
        String second = Files.readString(Path.of(CertificateAuthority.node(ca, List.of("b"), 1)));
        assertThat(PeerIdentity.ofCertificate(first).token())
                .isEqualTo(PeerIdentity.ofCertificate(second).token());
        String authority = Files.readString(Path.of(ca, "ca.pem"));
        assertThatThrownBy(() -> PeerIdentity.ofCertificate(authority))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the file is not from 'jrun cert node'");
    }

    @Test
    void nothingIsReplacedAndNothingIsMadeWithoutAnAuthority() throws Exception {
        assertThatThrownBy(() -> CertificateAuthority.init(ca))
                .isInstanceOf(UncheckedIOException.class)
                .hasMessageContaining("exists already");
        String elsewhere = folder.resolve("elsewhere").toString();
        assertThatThrownBy(() -> CertificateAuthority.node(elsewhere, List.of("a"), 1))
                .hasMessageContaining("there is no authority in " + elsewhere + "; make one: jrun cert init");
        Collection<String> made;
        try (var files = Files.list(folder)) {
            made = files.map(file -> file.getFileName().toString()).toList();
        }
        assertThat(made).containsExactly("ca");
    }
}
