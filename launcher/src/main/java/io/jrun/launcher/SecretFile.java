package io.jrun.launcher;

import io.jrun.agent.AgentSecret;
import io.jrun.comm.file.FileError;
import io.jrun.launcher.cli.TextFile;
import io.jrun.launcher.job.UsageException;
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
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Makes random secrets, and reads and writes the file with the secret of a standing agent and its users. Stateless. */
final class SecretFile {
    private static final int SECRET_BYTES = 32;

    private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rwx------");
    private static final Set<PosixFilePermission> OTHERS = PosixFilePermissions.fromString("---rwxrwx");

    /** The first words of a file of {@code jrun cert}. */
    private static final String PEM = "-----BEGIN ";

    private static final Pattern PEM_LINE = Pattern.compile("-{4,5}\\s?(BEGIN|END)\\b");

    private SecretFile() {}

    /** Returns new random bytes from the kernel, because SecureRandom's providers take 20 ms to load. */
    static byte[] random() {
        try (InputStream in = Files.newInputStream(Path.of("/dev/urandom"))) {
            return in.readNBytes(SECRET_BYTES);
        } catch (IOException e) {
            throw new IllegalStateException("/dev/urandom cannot be read", e);
        }
    }

    /**
     * Reads the secret in {@code file}. No other user may be able to read the file, because the secret allows its
     * holder to run programs as this user.
     */
    static AgentSecret read(Path file) {
        String text = TextFile.read("--secret-file: " + file, file);
        try {
            Set<PosixFilePermission> mode = Files.getPosixFilePermissions(file);
            if (!Collections.disjoint(mode, OTHERS)) {
                throw new UsageException("--secret-file: " + file + " is open to other users ("
                        + PosixFilePermissions.toString(mode) + "); chmod 600 " + file + ".");
            }
            checkText(text, file);
            return text.strip().startsWith(PEM)
                    ? AgentSecret.ofCertificate(text.strip())
                    : AgentSecret.of(text.strip().getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UsageException("--secret-file: " + file + ": its mode cannot be read: " + e.getMessage() + ".");
        } catch (IllegalArgumentException e) {
            throw new UsageException("--secret-file: " + file + ": " + e.getMessage()
                    + ". If the file does not exist, 'jrun agent' makes the file.");
        }
    }

    /** Refuses text that an editor or a copy could change invisibly, because the secret would then be another one. */
    private static void checkText(String text, Path file) {
        if (TextFile.hasByteOrderMark(text)) {
            throw refused(file, 0, text, "a byte-order mark, which no editor shows. Save the file as UTF-8 without it");
        }
        if (!text.strip().startsWith(PEM)) {
            Matcher block = PEM_LINE.matcher(text);
            if (block.find()) {
                throw refused(
                        file,
                        block.start(),
                        text,
                        "a part of a certificate or key, but a file of 'jrun cert node' begins with " + PEM.strip()
                                + ". Use that file unchanged");
            }
        }
        for (int i = 0; i < text.stripTrailing().length(); i++) {
            char c = text.charAt(i);
            if (Character.isISOControl(c) && c != '\n' && !text.startsWith("\r\n", i)) {
                throw refused(
                        file,
                        i,
                        text,
                        "a control character (code " + (int) c
                                + "), so this is no secret in text. Give such a file, as 'jrun"
                                + " agent' makes it where none exists");
            }
        }
    }

    private static UsageException refused(Path file, int at, String text, String why) {
        long line = 1 + text.substring(0, at).chars().filter(c -> c == '\n').count();
        return new UsageException("--secret-file: " + file + ", line " + line + ": " + why + ".");
    }

    /** Reads the secret in {@code file}, and makes the file with mode 0600 if the file does not exist. */
    static AgentSecret readOrCreate(Path file) {
        if (!Files.exists(file)) {
            create(file);
        }
        return read(file);
    }

    /**
     * Makes the complete file in one step. Another jrun that starts at the same time reads the complete file, or
     * discards its own secret.
     */
    private static void create(Path file) {
        Path unfinished = file.resolveSibling(file.getFileName() + "."
                + UUID.randomUUID()); // hosts may share the folder, and pids of hosts may be equal
        try {
            if (file.getParent() != null) {
                Files.createDirectories(file.getParent(), PosixFilePermissions.asFileAttribute(OWNER_ONLY));
            }
            write(unfinished, HexFormat.of().formatHex(random()) + "\n");
            try {
                Files.createLink(file, unfinished);
            } catch (FileAlreadyExistsException e) {
                // another process made the file first, and its secret is used
            } finally {
                Files.delete(unfinished);
            }
        } catch (IOException e) {
            throw new UsageException("the secret file " + file + " cannot be made: " + FileError.reason(e, file)
                    + "; give another with --secret-file.");
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
