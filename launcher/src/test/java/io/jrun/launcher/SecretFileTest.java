package io.jrun.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.cli.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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

    @Test
    void secretThatOthersCanReadIsRefused() throws IOException {
        Path file = Files.writeString(folder.resolve("secret"), "0123456789abcdef0123456789abcdef\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
        assertThatThrownBy(() -> SecretFile.readOrCreate(file))
                .isInstanceOf(UsageException.class)
                .hasMessage("--secret-file: " + file + " is open to other users (rw-r-----); chmod 600 " + file + ".");
    }
}
