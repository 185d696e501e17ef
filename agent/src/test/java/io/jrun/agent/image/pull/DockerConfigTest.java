package io.jrun.agent.image.pull;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.agent.container.ContainerException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files of {@code docker login}, and credential helpers that are real programs. */
class DockerConfigTest {
    @TempDir
    private Path folder;

    @Test
    void aPasswordIsRead() throws Exception {
        assertThat(find("{\"auths\":{\"https://h.io/v2/\":{\"auth\":\"" + base64("me:a:b") + "\"}}}"))
                .hasValueSatisfying(found -> {
                    assertThat(found.user()).isEqualTo("me");
                    assertThat(found.password()).isEqualTo("a:b");
                    assertThat(found.toString()).doesNotContain("a:b");
                });
        assertThat(find("{\"auths\":{\"other.io\":{\"auth\":\"" + base64("me:a") + "\"}}}"))
                .isEmpty();
    }

    @Test
    void anIdentityTokenIsRefused() {
        String auth = base64("00000000-0000-0000-0000-000000000000:");

        assertThatThrownBy(() -> find("{\"auths\":{\"h.io\":{\"auth\":\"" + auth + "\",\"identitytoken\":\"x\"}}}"))
                .isInstanceOf(ContainerException.class)
                .hasMessageContaining("are an identity token, which jrun cannot use");
        assertThatThrownBy(() -> helped("echo '{\"Username\":\"<token>\",\"Secret\":\"x\"}'"))
                .hasMessageContaining("are an identity token, which jrun cannot use");
    }

    @Test
    void aHelperThatFailsIsNamedWithItsReason() throws Exception {
        assertThat(helped("read -r registry; echo '{\"Username\":\"me\",\"Secret\":\"of '$registry'\"}'"))
                .hasValueSatisfying(found -> assertThat(found.password()).isEqualTo("of h.io"));
        assertThat(helped("echo credentials not found in native keychain; exit 1"))
                .isEmpty();
        assertThatThrownBy(() -> helped("echo 'the login has ended'; exit 1"))
                .isInstanceOf(ContainerException.class)
                .hasMessage("docker-credential-test gives no credentials for the registry h.io: the login has ended");
        assertThatThrownBy(() -> find("{\"credHelpers\":{\"h.io\":\"none-of-this-name\"}}"))
                .isInstanceOf(ContainerException.class)
                .hasMessageContaining("docker-credential-none-of-this-name for the registry h.io is not on PATH");
    }

    private Optional<Credential> helped(String script) throws IOException, ContainerException {
        Path program = Files.writeString(folder.resolve("docker-credential-test"), "#!/bin/sh\n" + script + "\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
        return find("{\"credHelpers\":{\"h.io\":\"test\"}}");
    }

    private Optional<Credential> find(String config) throws IOException, ContainerException {
        Path file = Files.writeString(folder.resolve("config.json"), config);
        return DockerConfig.find(file, List.of("h.io"), Map.of("PATH", folder + ":/usr/bin:/bin"));
    }

    private static String base64(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
