package io.jrun.comm.cuda;

import io.jrun.comm.file.FileError;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;

/**
 * Whether the jar of libtorch's CUDA build is whole. {@code jrun cuda install} records the SHA-256 of the jar beside the
 * jar, in the form of sha256sum(1). A jar that was put there by hand has no record. Stateless.
 */
public final class CudaBuildJar {
    private static final String LIBRARIES = "org/bytedeco/pytorch/linux-x86_64-gpu/";
    private static final String RECORD = ".sha256";
    private static final int PIECE = 1 << 20;

    private CudaBuildJar() {}

    /** The file with the digest of a jar; may be missing. */
    public static Path recordOf(Path jar) {
        return jar.resolveSibling(jar.getFileName() + RECORD);
    }

    /** Records the digest of {@code fetched}, before that file takes the place of {@code jar}. */
    public static void record(Path fetched, Path jar) throws IOException {
        Files.writeString(recordOf(jar), sha256(fetched) + "  " + jar.getFileName() + "\n", StandardCharsets.UTF_8);
    }

    /**
     * What is wrong with a jar, as a sentence without an end; empty if the jar is whole. Reads the whole jar if its
     * digest is recorded.
     */
    public static Optional<String> damage(Path jar) {
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            if (zip.stream().noneMatch(entry -> entry.getName().startsWith(LIBRARIES))) {
                return Optional.of(jar + " is not the jar of libtorch's CUDA build: it has no " + LIBRARIES);
            }
            Path record = recordOf(jar);
            return !Files.exists(record) || Files.readString(record).startsWith(sha256(jar))
                    ? Optional.empty()
                    : Optional.of(jar + " is damaged: its SHA-256 is not that in " + record);
        } catch (ZipException e) {
            return Optional.of(jar + " is damaged: it was cut short, or is no jar");
        } catch (IOException e) {
            return Optional.of(jar + " cannot be read: " + FileError.reason(e, jar));
        }
    }

    private static String sha256(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            byte[] piece = new byte[PIECE];
            for (int count = in.read(piece); count >= 0; count = in.read(piece)) {
                digest.update(piece, 0, count);
            }
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e); // each JDK has SHA-256
        }
    }
}
