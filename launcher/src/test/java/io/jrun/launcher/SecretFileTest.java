package io.jrun.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class SecretFileTest {
    @TempDir
    private Path folder;

    @Test
    void newSecretIsForItsOwnerAloneAndStays() throws IOException {
        Path file = folder.resolve("secret");
        SecretFile.readOrCreate(file);
        byte[] first = Files.readAllBytes(file);
        SecretFile.readOrCreate(file);
        assertThat(Files.readAllBytes(file)).isEqualTo(first).hasSizeGreaterThan(64);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
    }

    @ParameterizedTest
    @MethodSource("noSecrets")
    void unusableSecretsAreRefused(String content, String message) throws IOException {
        Path file = Files.write(folder.resolve("secret"), content.getBytes(StandardCharsets.UTF_8));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        assertThatThrownBy(() -> SecretFile.readOrCreate(file))
                .isInstanceOf(UsageException.class)
                .hasMessage("--secret-file: " + file + message);
    }

    static Stream<Arguments> noSecrets() {
        String text = "0123456789abcdef0123456789abcdef\n";
        String pem = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        String behind =
                ": a part of a certificate or key, but a file of 'jrun cert node' begins with -----BEGIN. Use that"
                        + " file unchanged.";
        String control =
                ", so this is no secret in text. Give such a file, as 'jrun agent' makes it where none exists.";
        return Stream.of(
                arguments(
                        "\ufeff" + pem,
                        ", line 1: a byte-order mark, which no editor shows. Save the file as UTF-8 without it."),
                arguments(
                        "\ufeff" + text,
                        ", line 1: a byte-order mark, which no editor shows. Save the file as UTF-8 without it."),
                arguments("my key\n" + pem, ", line 2" + behind),
                arguments("AAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n-----END PRIVATE KEY-----\n", ", line 2" + behind),
                arguments(text + "\t" + text, ", line 2: a control character (code 9)" + control),
                arguments("\u001b[31m" + text, ", line 1: a control character (code 27)" + control),
                arguments(
                        pem,
                        ": the file is not from 'jrun cert node'. If the file does not exist, 'jrun agent' makes the file."),
                arguments(
                        "-----BEGIN PRIVATE KEY-----\nA\n-----END PRIVATE KEY-----\n",
                        ": the file is damaged: its base64 text ends too early. If the file does not exist, 'jrun agent'"
                                + " makes the file."),
                arguments(
                        "short",
                        ": the agent's secret has 5 bytes, it needs at least 16. If the file does not exist, 'jrun agent'"
                                + " makes the file."),
                arguments(
                        "-----BEGIN A-----" + "\n".repeat(1_000_000) + "x",
                        ": the file is not from 'jrun cert node'. If the file does not exist, 'jrun agent' makes the file."),
                arguments("\0".repeat(64), ", line 1: a NUL byte, so this is no text file. Give a text file."));
    }

    @Test
    void secretThatOthersCanReadIsRefused() throws IOException {
        Path file = Files.writeString(folder.resolve("secret"), "0123456789abcdef0123456789abcdef\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
        assertThatThrownBy(() -> SecretFile.readOrCreate(file))
                .isInstanceOf(UsageException.class)
                .hasMessage("--secret-file: " + file + " is open to other users (rw-r-----); chmod 600 " + file + ".");
    }
}
