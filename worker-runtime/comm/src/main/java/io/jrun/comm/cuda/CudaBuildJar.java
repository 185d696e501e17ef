package io.jrun.comm.cuda;

import io.jrun.comm.file.FileError;
import io.jrun.comm.file.Sha256;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
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
     * The damage of a jar, as a sentence without an end; empty if the jar is whole. Reads the whole jar if its
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
        return HexFormat.of().formatHex(Sha256.of(file));
    }
}
