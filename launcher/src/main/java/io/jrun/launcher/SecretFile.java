package io.jrun.launcher;

import io.jrun.agent.AgentSecret;
import io.jrun.launcher.cli.UsageException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Collections;
import java.util.HexFormat;
import java.util.Set;

/** Random secrets, and the file in which a standing agent and its users share one. Stateless. */
final class SecretFile {
    private static final int SECRET_BYTES = 32;

    private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rwx------");
    private static final Set<PosixFilePermission> OTHERS = PosixFilePermissions.fromString("---rwxrwx");

    /** How a file of {@code jrun cert} begins. */
    private static final String PEM = "-----BEGIN ";

    private SecretFile() {}

    /** New random bytes from the kernel: SecureRandom's providers take 20 ms to load. */
    static byte[] random() {
        try (InputStream in = Files.newInputStream(Path.of("/dev/urandom"))) {
            return in.readNBytes(SECRET_BYTES);
        } catch (IOException e) {
            throw new IllegalStateException("/dev/urandom cannot be read", e);
        }
    }

    /** The secret in {@code file}, which nobody else may be able to read: whoever has it runs programs as this user. */
    static AgentSecret read(Path file) {
        try {
            Set<PosixFilePermission> mode = Files.getPosixFilePermissions(file);
            if (!Collections.disjoint(mode, OTHERS)) {
                throw new UsageException("--secret-file: " + file + " is open to other users ("
                        + PosixFilePermissions.toString(mode) + "); chmod 600 " + file + ".");
            }
            String text = Files.readString(file).strip();
            return text.startsWith(PEM)
                    ? AgentSecret.ofCertificate(text)
                    : AgentSecret.of(text.getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UsageException("--secret-file: " + file + " cannot be read: " + e.getMessage() + ".");
        } catch (IllegalArgumentException e) {
            throw new UsageException("--secret-file: " + file + ": " + e.getMessage() + ".");
        }
    }

    /** The secret in {@code file}, which is made with mode 0600 if it is not there. */
    static AgentSecret readOrCreate(Path file) {
        if (!Files.exists(file)) {
            create(file);
        }
        return read(file);
    }

    /** Whole at once: another jrun that starts at the same moment reads all of it, or makes its own in vain. */
    private static void create(Path file) {
        Path unfinished = file.resolveSibling(
                file.getFileName() + "." + ProcessHandle.current().pid());
        try {
            if (file.getParent() != null) {
                Files.createDirectories(file.getParent(), PosixFilePermissions.asFileAttribute(OWNER_ONLY));
            }
            write(unfinished, HexFormat.of().formatHex(random()) + "\n");
            try {
                Files.createLink(file, unfinished);
            } catch (FileAlreadyExistsException e) {
                // somebody was faster, and that one counts
            } finally {
                Files.delete(unfinished);
            }
        } catch (IOException e) {
            throw new UsageException("--secret-file: " + file + " cannot be made: " + e.getMessage() + ".");
        }
    }

    private static void write(Path file, String text) throws IOException {
        var mode = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
        try (var channel =
                Files.newByteChannel(file, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), mode)) {
            channel.write(StandardCharsets.US_ASCII.encode(text));
        }
    }
}
