package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.image.ImagePreparer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The ways to a registry: TLS, proxies, credential helpers, and registries that refuse. */
class RegistryIT extends RealJobs {
    private static final Path HOME = Path.of(Objects.requireNonNull(System.getProperty("jrun.home")));

    @TempDir
    private static Path shared;

    private static TestRegistry registry;

    @BeforeAll
    static void startRegistry() throws Exception {
        for (String program : new String[] {"docker-registry", "skopeo", "umoci", "openssl"}) {
            assumeTrue(TestCommand.exists(program), "needs the program " + program);
        }
        TestCommand.run(("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext"
                        + " subjectAltName=DNS:localhost,DNS:registry.invalid -keyout " + shared.resolve("key.pem")
                        + " -out " + shared.resolve("certificate.pem"))
                .split(" ", -1));
        registry = TestRegistry.withTls(shared, shared.resolve("storage"));
        Path root = Files.createDirectories(shared.resolve("root"));
        Files.writeString(root.resolve("file"), "of the image");
        Path layout = shared.resolve("layout");
        TestCommand.run("umoci", "init", "--layout", layout.toString());
        TestCommand.run("umoci", "new", "--image", layout + ":v1");
        TestCommand.run("umoci", "insert", "--image", layout + ":v1", root.toString(), "/");
        TestCommand.run(
                "skopeo",
                "copy",
                "-q",
                "--dest-tls-verify=false",
                "--dest-creds=me:secret",
                "oci:" + layout + ":v1",
                "docker://" + registry.host() + "/app:v1");
    }

    @AfterAll
    static void stop() {
        if (registry != null) {
            registry.close();
        }
    }

    /** The name of the registry exists only for the proxy. The helper has the password. */
    @Test
    void tlsThroughAProxyWithTheUserOfACredentialHelper() throws Exception {
        String image = "registry.invalid:" + registry.port() + "#app:v1";
        Files.createDirectories(folder.resolve(".docker"));
        Files.writeString(
                folder.resolve(".docker/config.json"),
                "{\"credHelpers\":{\"registry.invalid:" + registry.port() + "\":\"test\"}}");
        Path helper = Files.createDirectories(folder.resolve("bin")).resolve("docker-credential-test");
        Files.writeString(helper, """
                #!/bin/sh
                read -r registry
                case "$1 $registry" in
                  "get registry.invalid:"*) echo '{"ServerURL":"x","Username":"me","Secret":"secret"}' ;;
                  *) exit 1 ;;
                esac
                """);
        Files.setPosixFilePermissions(helper, PosixFilePermissions.fromString("rwx------"));
        try (TunnelProxy proxy = new TunnelProxy(registry.port())) {
            Map<String, String> environment = new HashMap<>(Map.of("HTTPS_PROXY", proxy.address()));
            assertThatThrownBy(() -> prepare(image, environment))
                    .hasMessageContaining("the registry registry.invalid:" + registry.port() + " cannot be trusted")
                    .hasMessageContaining("add the registry's certificate authority to the node's certificates");
            environment.put("SSL_CERT_FILE", shared.resolve("certificate.pem").toString());

            assertThat(prepare(image, environment).resolve("file")).hasContent("of the image");

            assertThat(proxy.requests).contains("CONNECT registry.invalid:" + registry.port() + " HTTP/1.1");
            environment.put("no_proxy", "other.io,invalid");
            assertThatThrownBy(() -> prepare(image, environment)).hasMessageContaining("no host has this name");
        }
    }

    /** Each case takes the start of a JVM. */
    @Test
    void aRegistryThatRefusesIsNamedWithTheReason() throws Exception {
        Map<String, String> sentences = Map.of(
                "403", "(403)",
                "429", "too many requests (429)",
                "503", "(HTTP 503)",
                "schema1", "a manifest of schema 1, which jrun does not read",
                "model", "media type 'application/vnd.cncf.model.weights.v1.tar', which jrun does not",
                "chart", "media type 'application/vnd.cncf.helm.chart.v1+json'");
        try (RefusingRegistry refusing = new RefusingRegistry()) {
            for (String name :
                    RunSeed.sample(sentences.keySet().stream().sorted().toList(), 2)) {
                assertThatThrownBy(() -> prepare(refusing.image(name), Map.of()))
                        .hasMessageContaining(sentences.get(name));
            }
        }
        assertThat(folder.resolve("images/work")).isEmptyDirectory();
    }

    private Path prepare(String image, Map<String, String> more) throws ContainerException, InterruptedException {
        Map<String, String> environment = new HashMap<>(Map.of(
                "HOME",
                folder.toString(),
                "JRUN_IMAGE_CACHE",
                folder.resolve("images").toString(),
                "PATH",
                folder.resolve("bin") + ":/usr/bin:/bin"));
        environment.putAll(more);
        Path lib = HOME.resolve("lib");
        return new ImagePreparer(lib + "/launcher/*:" + lib + "/image/*", environment, _ -> {})
                .prepare(ImageReference.parse(image));
    }
}
