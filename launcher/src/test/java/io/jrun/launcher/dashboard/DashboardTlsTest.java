package io.jrun.launcher.dashboard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.cert.CertificateAuthority;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.record.JobIndex;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A page that other machines can reach. */
@Timeout(60)
class DashboardTlsTest {
    private static final byte[] THIS_MACHINE = {127, 0, 0, 1};

    @TempDir
    Path folder;

    private Path pem = Path.of("");

    @BeforeEach
    void makeCertificate() {
        String _ = CertificateAuthority.init(folder.toString());
        pem = Path.of(CertificateAuthority.node(folder.toString(), List.of("node1.example", "*.pages.example"), 1));
    }

    private DashboardServer serve(String host) {
        return DashboardServer.open(host, 0, Optional.of(ServerIdentity.read(pem, pem)), JobIndex.in(folder));
    }

    /** The first line of the reply to a client that trusts the authority and checks the name of the host. */
    private String status(URI url, String... headers) throws Exception {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        String text = Files.readString(folder.resolve("ca.pem"));
        String certificate = text.substring(text.indexOf("-----BEGIN CERTIFICATE"), text.indexOf("-----BEGIN JRUN"));
        trusted.setCertificateEntry(
                "authority",
                CertificateFactory.getInstance("X.509")
                        .generateCertificate(
                                new ByteArrayInputStream(certificate.getBytes(StandardCharsets.US_ASCII))));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        try (Socket plain = new Socket(InetAddress.getByAddress(THIS_MACHINE), url.getPort());
                SSLSocket socket = (SSLSocket)
                        context.getSocketFactory().createSocket(plain, url.getHost(), url.getPort(), true)) {
            socket.setSoTimeout(20_000);
            return reply(socket, "GET /api/jobs?" + url.getQuery(), headers);
        }
    }

    private static String reply(Socket socket, String line, String... headers) throws IOException {
        String request = line + " HTTP/1.1\r\n" + String.join("\r\n", headers) + "\r\nConnection: close\r\n\r\n";
        socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
        socket.getOutputStream().flush();
        return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                .lines()
                .findFirst()
                .orElse("");
    }

    @Test
    void thePageIsServedToTheNamesOfTheCertificate() throws Exception {
        try (DashboardServer server = serve("0.0.0.0")) {
            URI url = URI.create(server.url());
            assertThat(server.url()).startsWith("https://node1.example:");
            String at = ":" + url.getPort();
            assertThat(status(url, "Host: node1.example" + at)).contains(" 200 ");
            assertThat(status(url, "Host: a.pages.example" + at)).contains(" 200 ");
            assertThat(status(url, "Host: localhost" + at)).contains(" 200 ");
            assertThat(status(url, "Host: a.b.pages.example" + at)).contains(" 403 ");
            assertThat(status(url, "Host: evil.example" + at)).contains(" 403 ");
            assertThat(status(url, "Host: node1.example" + at, "Origin: https://node1.example" + at))
                    .contains(" 200 ");
            assertThat(status(url, "Host: node1.example" + at, "Origin: http://node1.example" + at))
                    .contains(" 403 ");
            URI withoutToken = URI.create("https://node1.example" + at + "/?token=0");
            assertThat(status(withoutToken, "Host: node1.example" + at)).contains(" 403 ");
        }
    }

    @Test
    void aPlainRequestGetsNoPage() throws Exception {
        try (DashboardServer server = serve("localhost")) {
            URI url = URI.create(server.url());
            try (Socket socket = new Socket(InetAddress.getByAddress(THIS_MACHINE), url.getPort())) {
                socket.setSoTimeout(20_000);
                assertThat(reply(socket, "GET /?" + url.getQuery(), "Host: localhost:" + url.getPort()))
                        .doesNotContain(" 200 ");
            }
        }
    }

    @Test
    void anotherAddressWithoutTlsIsOneLine() {
        assertThatThrownBy(() -> DashboardServer.open("0.0.0.0", 0, Optional.empty(), JobIndex.in(folder)))
                .isInstanceOf(UsageException.class)
                .hasMessage("--host: other machines can reach 0.0.0.0, so --tls-certificate and --tls-key are needed;"
                        + " or leave out --host and use 'ssh -L'.");
        assertThatThrownBy(() -> DashboardServer.open("a..b", 0, Optional.empty(), JobIndex.in(folder)))
                .isInstanceOf(UsageException.class)
                .hasMessage("--host: a..b is no name or address of this machine.");
    }

    @Test
    void filesThatCannotBeUsedAreOneLine() throws IOException {
        Path other = Path.of(CertificateAuthority.node(folder.toString(), List.of("node2"), 1));
        assertThatThrownBy(() -> ServerIdentity.read(pem, other))
                .hasMessage("--tls-key: " + other + " is not the key of the certificate (a key of EC).");
        Path text = Files.writeString(folder.resolve("text"), "hello");
        assertThatThrownBy(() -> ServerIdentity.read(text, pem))
                .hasMessage("--tls-certificate: " + text + " has no block 'BEGIN CERTIFICATE': it is no PEM file.");
        Path old = Files.writeString(
                folder.resolve("old"), "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n");
        assertThatThrownBy(() -> ServerIdentity.read(pem, old))
                .hasMessage("--tls-key: " + old + " has no block 'BEGIN PRIVATE KEY', but 'RSA PRIVATE KEY'; 'openssl"
                        + " pkcs8 -topk8 -nodes' converts the key.");
        Path absent = folder.resolve("absent");
        assertThatThrownBy(() -> ServerIdentity.read(absent, pem))
                .isInstanceOf(UsageException.class)
                .hasMessageStartingWith("--tls-certificate: cannot read " + absent + ": ");
    }
}
